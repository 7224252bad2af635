// Makes an inference model trainable and trains it: train MODEL DATA OUT
//
//   onward example digits -o digits.onnx
//   train digits.onnx digits-train.npz trained.onnx

#include <onward/onward.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: train MODEL DATA OUT\n");
    return 1;
  }
  try {
    const onward::Model model = onward::prepare(
        onward::load(argv[1]), {.loss = "softmax_cross_entropy", .optimizer = onward::adam(2e-3)});
    onward::Trainer trainer(model);
    const onward::Dataset data = onward::open_dataset(argv[2]);
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      const onward::Batches batches = data.shuffled(42, epoch).batches(32);
      double loss = 0;
      for (const onward::Batch& batch : batches) loss += trainer.step(batch).at("loss").number();
      std::printf("epoch %d: loss %.4f\n", static_cast<int>(epoch) + 1,
                  loss / static_cast<double>(batches.size()));
    }
    std::printf("accuracy %.2f %%\n", 100 * trainer.evaluate(data).accuracy.value_or(0));
    trainer.save(argv[3]);
  } catch (const onward::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
