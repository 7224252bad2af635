#pragma once

/// Onward as a library: what a program includes. None of these headers shows protobuf or oneDNN.

#include "data/feeds.h"     // open_dataset, Feeds: batches from files
#include "ir/check.h"       // check_file: every problem of a model
#include "ir/load.h"        // load
#include "ir/model.h"       // Model and its graphs
#include "ir/save.h"        // save
#include "onward/error.h"   // Error, Bug
#include "recipe/recipe.h"  // prepare: an inference model becomes trainable
#include "train/trainer.h"  // Trainer: step, infer, initialize
