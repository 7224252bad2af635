#pragma once

/// Onward as a library: what a program includes.

#include "onward/dataset.h"   // Dataset, open_dataset: batches from files
#include "onward/error.h"     // Error, Bug
#include "onward/log.h"       // set_log_callback
#include "onward/model.h"     // Model, load, save, check
#include "onward/prepare.h"   // prepare: an inference model becomes trainable
#include "onward/tensor.h"    // Tensor, Batch
#include "onward/trainer.h"   // Trainer: step, infer, evaluate
#include "onward/transfer.h"  // lower, export_to, import_weights
#include "onward/version.h"   // kVersion
