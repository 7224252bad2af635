#pragma once

/// Onward as a library: what a program includes. None of these headers shows protobuf or oneDNN.

#include "check/check.h"    // check_file: every problem of a model
#include "data/feeds.h"     // open_dataset, Feeds: batches from files
#include "format/load.h"    // load
#include "format/save.h"    // save
#include "ir/model.h"       // Model and its graphs
#include "onward/error.h"   // Error, Bug
#include "recipe/recipe.h"  // prepare: an inference model becomes trainable
#include "train/trainer.h"  // Trainer: step, infer, initialize
