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
    using namespace onward;
    Trainer trainer(prepare(
        load(argv[1]),
        {.loss = "softmax_cross_entropy", .optimizer = default_settings("adam", Formula::torch)}));
    const Feeds feeds(open_dataset(argv[2]), input_slots(trainer.model()));
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      double loss = 0, batches = 0;
      for (const std::vector<int64_t>& rows : shuffled_batches(feeds.size(), 32, 42, epoch)) {
        loss += trainer.step(feeds.batch(rows)).at("loss").number(0);
        ++batches;
      }
      std::printf("epoch %d: loss %.4f\n", static_cast<int>(epoch) + 1, loss / batches);
    }
    save(trainer.model(), argv[3]);
  } catch (const onward::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
