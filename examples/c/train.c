/* Makes an inference model trainable and trains it: train MODEL DATA OUT
 *
 *   onward example digits -o digits.onnx
 *   train digits.onnx digits-train.npz trained.onnx
 */

#include <onward/onward_c.h>
#include <stdio.h>
#include <stdlib.h>

static void must(onward_status status) {
  if (status == ONWARD_OK) return;
  fprintf(stderr, "error %d: %s\n", (int)status, onward_last_error());
  exit(1);
}

static double step(onward_trainer* trainer, const onward_dataset* data, int64_t first, int64_t batch_size) {
  onward_tensors *batch, *outputs;
  double loss;
  must(onward_dataset_rows(data, first, batch_size, &batch));
  must(onward_trainer_step(trainer, batch, &outputs));
  must(onward_tensors_number(outputs, "loss", 0, &loss));
  onward_tensors_free(outputs);
  onward_tensors_free(batch);
  return loss;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: train MODEL DATA OUT\n");
    return 1;
  }
  onward_model *inference, *model;
  const onward_setting settings[] = {{"lr", 2e-3}};
  onward_prepare_options options = ONWARD_PREPARE_OPTIONS;
  options.loss = "softmax_cross_entropy";
  options.optimizer = "adam";
  options.settings = settings;
  options.setting_count = 1;
  must(onward_load(argv[1], &inference));
  must(onward_prepare(inference, &options, &model));

  onward_trainer* trainer;
  onward_dataset* data;
  must(onward_trainer_create(model, 42, 0, &trainer));
  must(onward_dataset_open(argv[2], &data));
  const int64_t size = onward_dataset_size(data), batch_size = 32;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    onward_dataset* shuffled;
    double loss = 0;
    int64_t steps = 0;
    must(onward_dataset_shuffled(data, 42, epoch, &shuffled));
    for (int64_t first = 0; first < size; first += batch_size, ++steps) {
      loss += step(trainer, shuffled, first, batch_size);
    }
    onward_dataset_free(shuffled);
    printf("epoch %d: loss %.4f\n", (int)epoch + 1, loss / (double)steps);
  }
  must(onward_trainer_save(trainer, argv[3]));

  onward_dataset_free(data);
  onward_trainer_free(trainer);
  onward_model_free(model);
  onward_model_free(inference);
  return 0;
}
