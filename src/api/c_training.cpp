// Models and trainers of the C interface.

#include <algorithm>
#include <cstring>

#include "api/c_handles.h"

using onward::Error;
using onward::ErrorCode;
using namespace onward::api;

namespace {

std::vector<std::string> texts(const char* const* list, size_t count, const char* name) {
  std::vector<std::string> copies;
  if (count > 0) require_given(list, name);
  for (size_t i = 0; i < count; ++i) {
    require_given(list[i], name);
    copies.emplace_back(list[i]);
  }
  return copies;
}

/// A program may be compiled with an older header, whose struct is shorter: what it lacks is zero.
onward_prepare_options whole(const onward_prepare_options* given) {
  onward_prepare_options options = ONWARD_PREPARE_OPTIONS;
  if (!given) return options;
  if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof(options)) {
    throw Error("struct_size is " + std::to_string(given->struct_size) +
                    ": begin with ONWARD_PREPARE_OPTIONS",
                ErrorCode::invalid_argument);
  }
  std::memcpy(&options, given, given->struct_size);
  return options;
}

PrepareOptions prepare_options(const onward_prepare_options& given) {
  PrepareOptions options;
  if (given.loss) options.loss = given.loss;
  if (given.optimizer) options.optimizer.name = given.optimizer;
  if (given.formula) options.optimizer.formula = given.formula;
  if (given.setting_count > 0) require_given(given.settings, "settings");
  for (size_t i = 0; i < given.setting_count; ++i) {
    require_given(given.settings[i].name, "the name of a setting");
    options.optimizer.settings[given.settings[i].name] = given.settings[i].value;
  }
  if (given.model_output) options.model_output = given.model_output;
  options.train = texts(given.train, given.train_count, "train");
  options.freeze = texts(given.freeze, given.freeze_count, "freeze");
  if (given.batch_norm_by_batch) options.batch_norm = "batch";
  options.dropout = given.without_dropout == 0;
  return options;
}

}  // namespace

onward_status onward_load(const char* file, onward_model** model) {
  return give(model, [&] {
    require_given(file, "file");
    return load(file);
  });
}

onward_status onward_load_bytes(const void* bytes, size_t count, onward_model** model) {
  return give(model, [&] {
    if (count > 0) require_given(bytes, "bytes");
    return load_bytes(std::string(static_cast<const char*>(bytes), count));
  });
}

onward_status onward_save(const onward_model* model, const char* file) {
  return reported([&] {
    require_given(model, "model");
    require_given(file, "file");
    save(model->model, file);
  });
}

void onward_model_free(onward_model* model) { delete model; }

onward_status onward_prepare(const onward_model* model, const onward_prepare_options* options,
                             onward_model** prepared) {
  return give(prepared, [&] {
    require_given(model, "model");
    return prepare(model->model, prepare_options(whole(options)));
  });
}

onward_status onward_trainer_create(const onward_model* model, uint64_t seed, int64_t threads,
                                    onward_trainer** trainer) {
  return give(trainer, [&] {
    require_given(model, "model");
    return Trainer(model->model, {.seed = seed, .threads = threads});
  });
}

void onward_trainer_free(onward_trainer* trainer) { delete trainer; }

onward_status onward_trainer_step(onward_trainer* trainer, const onward_tensors* batch,
                                  onward_tensors** outputs) {
  if (outputs) *outputs = nullptr;
  return reported([&] {
    require_given(trainer, "trainer");
    require_given(batch, "batch");
    // The handle comes first: after the step nothing may fail any more.
    auto given = std::make_unique<onward_tensors>();
    given->tensors = trainer->trainer.step(batch->tensors);
    if (outputs) *outputs = given.release();
  });
}

onward_status onward_trainer_infer(onward_trainer* trainer, const onward_tensors* batch,
                                   onward_tensors** outputs) {
  return give(outputs, [&] {
    require_given(trainer, "trainer");
    require_given(batch, "batch");
    return trainer->trainer.infer(batch->tensors);
  });
}

onward_status onward_trainer_initialize(onward_trainer* trainer) {
  return reported([&] {
    require_given(trainer, "trainer");
    trainer->trainer.initialize();
  });
}

onward_status onward_trainer_state(const onward_trainer* trainer, onward_tensors** state) {
  return give(state, [&] {
    require_given(trainer, "trainer");
    return trainer->trainer.state();
  });
}

onward_status onward_trainer_set_state(onward_trainer* trainer, const onward_tensors* state) {
  return reported([&] {
    require_given(trainer, "trainer");
    require_given(state, "state");
    trainer->trainer.set_state(state->tensors);
  });
}

onward_status onward_trainer_model(const onward_trainer* trainer, onward_model** model) {
  return give(model, [&] {
    require_given(trainer, "trainer");
    return trainer->trainer.model();
  });
}

onward_status onward_trainer_save(const onward_trainer* trainer, const char* file) {
  return reported([&] {
    require_given(trainer, "trainer");
    require_given(file, "file");
    trainer->trainer.save(file);
  });
}
