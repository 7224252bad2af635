// The frozen part of a step: the same bits in any batch, kept or not, and read once.

#include "train/frozen_part.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "data/image_folder.h"
#include "format/load.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"
#include "train/loop.h"

namespace onward {
namespace {

constexpr int64_t kSide = 40;

/// A convolution that is not trained, and a layer that is.
Model transfer() {
  return parse_text(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (float[N, 3, 40, 40] image) => (float[N, 2] scores)
<float[16, 2] w = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1},
 float[1] part = {0.37}, int64[4] kernel = {16, 3, 3, 3}>
{
  k = Expand(part, kernel)
  c = Conv<pads = [1, 1, 1, 1]>(image, k)
  d = Conv<pads = [1, 1, 1, 1]>(image, k)
  sum = Sum(c, d)
  r = Relu(sum)
  pooled = GlobalAveragePool(r)
  features = Flatten(pooled)
  scores = MatMul(features, w)
}
training_info {
  algorithm step (int64[N] label) => (float loss, float[16, 2] new_w) <float rate = {0.01}> {
    loss = SoftmaxCrossEntropyLoss(scores, label)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["image", "label"], y = "loss">(w, image, label)
    change = Mul(dw, rate)
    new_w = Sub(w, change)
  }
  update_binding { w <- new_w }
})");
}

std::vector<float> pixels(int64_t count) {
  std::vector<float> pixels;
  for (int64_t i = 0; i < count * 3 * kSide * kSide; ++i) {
    pixels.push_back(static_cast<float>(i * 7919 % 1009) / 1009);
  }
  return pixels;
}

Dataset data(int64_t count, std::vector<float> image) {
  std::vector<int64_t> label;
  for (int64_t i = 0; i < count; ++i) label.push_back(i % 2);
  return Dataset({{"image", Tensor::of<float>({count, 3, kSide, kSide}, std::move(image))},
                  {"label", Tensor::of<int64_t>({count}, label)}});
}

/// A trainer and the frozen part of its steps.
struct Training {
  Training(const Feeds& feeds, FrozenOptions options, int64_t batch = 4)
      : trainer(transfer(), {.only_metrics = true}) {
    FrozenSplit split = trainer.split_off_frozen(0, batch_types(feeds, batch));
    if (!split.prefix) throw Error(split.reason);
    part.emplace(std::move(*split.prefix), feeds, trainer.inputs(0), std::move(options));
  }

  Trainer trainer;
  std::optional<FrozenPart> part;
};

FrozenOptions room_for(int64_t memory, int64_t disk = 0, const std::string& folder = "/tmp") {
  return {.room = std::make_shared<StoreRoom>(StoreRoom{memory, disk, folder})};
}

class Silent : public Report {
 public:
  void begin(const Job&) override {}
  void step(const Moment&, const Summary& step, const Summary&) override {
    losses.push_back(step.losses[0].second);
  }
  void evaluating(int64_t, int64_t) override {}
  void epoch(const Moment&, const Summary&, const std::optional<Summary>&) override { on_epoch(); }
  void checkpoint(const Moment&, const std::filesystem::path&) override {}
  void interrupted(const Moment&, const std::string&) override {}
  void best(const Moment&, const std::filesystem::path&) override {}
  void stopped(const Moment&, const std::string&) override {}
  void done(const Moment&, const std::filesystem::path&) override {}

  std::vector<double> losses;
  std::function<void()> on_epoch = [] {};
};

std::vector<double> train(const Feeds& feeds, FrozenOptions options, uint64_t epochs = 3) {
  Training training(feeds, std::move(options));
  LoopState loop{.batch = 4, .infos = {0}};
  Silent report;
  train(training.trainer, feeds, loop, {.epochs = epochs, .frozen = &*training.part}, report);
  return report.losses;
}

TEST(FrozenPart, GivesTheSameBitsInAnyBatch) {
  const Feeds feeds(data(11, pixels(11)), input_slots(transfer()));
  Training training(feeds, {});
  State& state = training.trainer.state();
  const std::vector<int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, some = {7, 2, 9};
  const TensorMap of_all = training.part->batch(all, state);
  const TensorMap of_some = training.part->batch(some, state);
  EXPECT_FALSE(of_all.contains("image"));
  EXPECT_EQ(of_some.at("label").integers(), (std::vector<int64_t>{1, 0, 1}));
  const Tensor &whole = of_all.at("features"), &part = of_some.at("features");
  EXPECT_EQ(part.dims(), (std::vector<int64_t>{3, 16}));
  for (size_t i = 0; i < some.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(whole.bytes().subspan(static_cast<size_t>(some[i]) * 64, 64),
                                   part.bytes().subspan(i * 64, 64)));
  }
}

TEST(FrozenPart, TrainsAlikeWhateverIsKept) {
  const Feeds feeds(data(11, pixels(11)), input_slots(transfer()));
  const std::vector<double> losses = train(feeds, {});
  ASSERT_EQ(losses.size(), 9U);
  EXPECT_EQ(train(feeds, room_for(11 * 64)), losses);
  EXPECT_EQ(train(feeds, room_for(3 * 64)), losses);
  EXPECT_EQ(train(feeds, room_for(3 * 64, 4 * 64)), losses);
  std::vector<std::string> warnings;
  FrozenOptions nowhere = room_for(3 * 64, 4 * 64, "/nowhere");
  nowhere.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  EXPECT_EQ(train(feeds, nowhere), losses);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("cannot grow in '/nowhere'"), std::string::npos) << warnings[0];
}

/// As the whole step, but for the rounding of other kernels and sums.
TEST(FrozenPart, IsThatOfTheWholeStep) {
  const Feeds feeds(data(8, pixels(8)), input_slots(transfer()));
  Trainer whole(transfer(), {.only_metrics = true});
  LoopState loop{.batch = 4, .infos = {0}};
  Silent report;
  train(whole, feeds, loop, {.epochs = 3}, report);
  const std::vector<double> losses = train(feeds, room_for(8 * 64));
  ASSERT_EQ(losses.size(), report.losses.size());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], report.losses[i], 1e-5);
}

TEST(FrozenPart, IsNamedWhereItIsNotFinite) {
  std::vector<float> image = pixels(8);
  image[5 * 3 * kSide * kSide + 17] = std::numeric_limits<float>::infinity();
  const Feeds feeds(data(8, std::move(image)), input_slots(transfer()));
  try {
    train(feeds, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("in 'features' for example 5"), std::string::npos)
        << error.what();
  }
}

/// Files of eight images.
std::shared_ptr<const ImageFolder> images_in(const std::filesystem::path& folder) {
  for (int i = 0; i < 8; ++i) {
    const std::filesystem::path classes = folder / (i % 2 ? "odd" : "even");
    std::filesystem::create_directories(classes);
    std::ofstream file(classes / fmt::format("{}.ppm", i), std::ios::binary);
    file << "P6\n40 40\n255\n";
    for (int j = 0; j < 3 * kSide * kSide; ++j) file.put(static_cast<char>(i * 31 + j * 7));
  }
  return std::make_shared<const ImageFolder>(folder, std::vector<std::string>{});
}

TEST(FrozenPart, ReadsImagesOnce) {
  for (const bool keeps : {true, false}) {
    const TemporaryFolder folder;
    const Feeds feeds(Dataset(images_in(folder.path() / "photos"), {}), input_slots(transfer()));
    Training training(feeds, keeps ? room_for(8 * 64) : FrozenOptions{});
    LoopState loop{.batch = 3, .infos = {0}};
    Silent report;
    report.on_epoch = [&] { std::filesystem::remove_all(folder.path() / "photos"); };
    const LoopOptions options{.epochs = 3, .frozen = &*training.part};
    if (keeps) {
      train(training.trainer, feeds, loop, options, report);
      EXPECT_EQ(report.losses.size(), 9U);
    } else {
      EXPECT_THROW(train(training.trainer, feeds, loop, options, report), Error);
    }
  }
}

}  // namespace
}  // namespace onward
