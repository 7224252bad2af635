// The public interface, as a program sees it: linked to libonward.so, with public headers alone.

#include <gtest/gtest.h>
#include <onward/onward.h>

#include <cstring>
#include <filesystem>
#include <thread>

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLine = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  line (float[N,1] x) => (float[N,1] y) <float[1,1] w = full(0), float[1] b = full(0)> {
    p = MatMul(x, w)
    y = Add(p, b)
  })";

Model trainable() {
  return prepare(parse(kLine), {.loss = "mse", .optimizer = sgd(0.05), .train = {"w", "b"}});
}

Batch batch() {
  const std::vector<float> x = {1, 2, 3, 4}, label = {3, 5, 7, 9};
  return {{"x", Tensor({4, 1}, x)}, {"label", Tensor({4, 1}, label)}};
}

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / "onward_api_test";
  fs::create_directories(folder);
  return folder / name;
}

TEST(Api, Trains) {
  Trainer trainer(trainable(), {.threads = 1});
  const double first = trainer.step(batch()).at("loss").number();
  double last = 0;
  for (int i = 0; i < 200; ++i) last = trainer.step(batch()).at("loss").number();
  EXPECT_LT(last, 0.01 * first);
  EXPECT_EQ(trainer.steps(), 201U);
  EXPECT_EQ(trainer.threads(), 1);
  const Tensor y = trainer.infer({{"x", Tensor({1, 1}, std::vector<float>{10})}}).at("y");
  EXPECT_NEAR(y.data<float>()[0], 21, 0.5);
}

TEST(Api, GivesAModelAnotherClassifierOrHead) {
  const Model model = parse(R"(<ir_version: 8, opset_import: ["" : 17]>
      m (float[1,4] x) => (float[1,7] y) <float[4,7] w = full(1), float[7] b = full(1)> {
        y = Gemm(x, w, b) })");
  const Tensor x({2, 4}, std::vector<float>(8, 1));
  PrepareOptions options;
  options.classes = 3;
  options.head_seed = 5;
  options.labels = {"a", "b", "c"};
  options.freeze_backbone = true;
  EXPECT_EQ(Trainer(prepare(model, options)).infer({{"x", x}}).at("y").shape(),
            (std::vector<int64_t>{2, 3}));
  options.keep_batch = true;
  EXPECT_THROW(Trainer(prepare(model, options)).infer({{"x", x}}), Error);
  PrepareOptions with_head;
  with_head.head = parse(R"(<ir_version: 8, opset_import: ["" : 17]>
      h (float[N,4] f) => (float[N,2] z) <float[4,2] v = full(1)> { z = MatMul(f, v) })");
  EXPECT_EQ(Trainer(prepare(model, with_head)).infer({{"x", x}}).at("z").shape(),
            (std::vector<int64_t>{2, 2}));
}

TEST(Api, ConvolvesAsAskedFor) {
  const Model model = parse(R"(<ir_version: 8, opset_import: ["" : 17]>
      m (float[N,64,16,16] x) => (float[N,64,16,16] y) <float[64,64,3,3] w = normal(1, 0.05)> {
        y = Conv<pads = [1, 1, 1, 1]>(x, w) })");
  const Tensor x({16, 64, 16, 16}, std::vector<float>(16 * 64 * 16 * 16, 1));
  Trainer trainer(model, {.conv = Conv::direct});
  trainer.infer({{"x", x}});
  EXPECT_EQ(trainer.explain().find("% winograd"), std::string::npos) << trainer.explain();
}

TEST(Api, ResumesFromAFile) {
  const fs::path file = scratch("line.onnx");
  Trainer one(trainable());
  one.step(batch());
  one.save(file);
  Trainer other(load(file));
  one.step(batch());
  other.step(batch());
  const auto bits = [](const Tensor& tensor) {
    return std::string(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  };
  EXPECT_EQ(bits(one.state("w")), bits(other.state("w")));
  EXPECT_TRUE(check(file).empty());
}

TEST(Api, StateIsSetAsAWholeOrNotAtAll) {
  Trainer trainer(trainable());
  const Tensors before = trainer.state();
  trainer.step(batch());
  const float w = trainer.state("w").data<float>()[0];
  EXPECT_THROW(
      trainer.set_state({{"b", before.at("b")}, {"w", Tensor({2}, std::vector<float>{1, 2})}}),
      Error);
  EXPECT_EQ(trainer.state("w").data<float>()[0], w);
  EXPECT_NE(trainer.state("b").data<float>()[0], 0);
  trainer.set_state(before);
  EXPECT_EQ(trainer.state("w").data<float>()[0], 0);
}

TEST(Api, Evaluates) {
  Trainer trainer(trainable());
  const Tensors before = trainer.state();
  const Metrics metrics = trainer.evaluate(Dataset(batch()), 3);
  ASSERT_EQ(metrics.losses.size(), 1U);
  EXPECT_EQ(metrics.losses[0].first, "loss");
  EXPECT_NEAR(metrics.losses[0].second, (9 + 25 + 49 + 81) / 4.0, 1e-5);
  EXPECT_FALSE(metrics.accuracy);
  EXPECT_TRUE(metrics.metrics.empty());
  const Metrics more = trainer.evaluate(Dataset(batch()), std::nullopt, {"mae", "r2"});
  ASSERT_EQ(more.metrics.size(), 2U);
  EXPECT_EQ(more.metrics[0], (std::pair<std::string, double>("mae", 6)));
  EXPECT_EQ(more.metrics[1].first, "r2");
  EXPECT_DOUBLE_EQ(more.metrics[1].second, 1 - 164.0 / 20);
  EXPECT_THROW(trainer.evaluate(Dataset(batch()), 1, {"f1"}), Error);
  EXPECT_EQ(trainer.state("w").data<float>()[0], before.at("w").data<float>()[0]);
}

TEST(Api, DescribesModels) {
  const Model model = trainable();
  EXPECT_EQ(model.name(), "line");
  EXPECT_EQ(model.inputs().at(0).name, "x");
  EXPECT_EQ(model.outputs().at(0).type, "f32[N,1]");
  ASSERT_EQ(model.training_infos(), 1U);
  EXPECT_EQ(model.training_inputs().at(0).name, "label");
  EXPECT_EQ(model.training_outputs().at(0).name, "loss");
  EXPECT_EQ(model.parameters().size(), 2U);
  EXPECT_EQ(model.opsets().at(""), 17);
  EXPECT_NE(model.to_text().find("Gradient"), std::string::npos);
  EXPECT_EQ(load_bytes(model.to_bytes()).parameters().size(), 2U);
  const Model other = model.with_tensors({{"w", Tensor({1, 1}, std::vector<float>{7})}});
  EXPECT_EQ(other.parameters().at("w").number(), 7);
  EXPECT_EQ(model.parameters().at("w").number(), 0);
}

TEST(Api, CutsDatasetsIntoBatches) {
  const std::vector<int64_t> numbers = {0, 1, 2, 3, 4, 5, 6};
  const Dataset data({{"n", Tensor({7}, numbers)}});
  const auto order = [](const Dataset& of) {
    std::vector<int64_t> rows, sizes;
    for (const Batch& batch : of.batches(3)) {
      const auto values = batch.at("n").data<int64_t>();
      rows.insert(rows.end(), values.begin(), values.end());
      sizes.push_back(batch.at("n").size());
    }
    EXPECT_EQ(sizes, (std::vector<int64_t>{3, 3, 1}));
    return rows;
  };
  EXPECT_EQ(order(data), numbers);
  std::vector<int64_t> shuffled = order(data.shuffled(42));
  EXPECT_NE(shuffled, numbers);
  EXPECT_EQ(shuffled, order(data.shuffled(42)));
  EXPECT_NE(shuffled, order(data.shuffled(42, 1)));
  EXPECT_EQ(data.batches(3).size(), 3);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, numbers);
}

TEST(Api, LowersExportsAndImports) {
  Trainer trainer(trainable());
  const Model lowered = lower(trainer.model(), {.opset = 18});
  EXPECT_EQ(lowered.training_infos(), 0U);
  EXPECT_EQ(lowered.opsets().at(""), 18);
  const fs::path folder = scratch("torch");
  trainer.step(batch());
  export_to(trainer.model(), "torch", folder, {.model_file = "line.onnx"});
  EXPECT_TRUE(fs::exists(folder / "model.py"));
  const Model back = import_weights(trainable(), folder);
  EXPECT_EQ(back.parameters().at("w").number(), trainer.state("w").number());
}

TEST(Api, TellsTheLog) {
  std::vector<std::string> told;
  set_log_callback([&](LogLevel, std::string_view message) { told.emplace_back(message); });
  const fs::path folder = scratch("log");
  export_to(trainable(), "torch", folder);
  import_weights(trainable(), folder);
  set_log_callback({});
  import_weights(trainable(), folder);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("2 weights"), std::string::npos) << told[0];
}

TEST(Api, TensorsOfTheCallerMayChangeAfterACall) {
  Trainer trainer(
      parse("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = "
            "Identity(x) }"));
  std::vector<float> memory = {1, 2};
  const Tensor y =
      trainer.infer({{"x", Tensor::view(DType::f32, {2}, std::as_bytes(std::span(memory)))}})
          .at("y");
  memory = {5, 6};
  EXPECT_EQ(y.number(0), 1);
}

TEST(Api, SeveralThreadsShareATrainer) {
  Trainer trainer(trainable());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 25; ++step) trainer.step(batch());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trainer.steps(), 100U);
}

struct Mistake {
  const char* name;
  ErrorCode code;
  const char* message;  // a part of it
  void (*make)();
};

const Mistake kMistakes[] = {
    {"NoFile", ErrorCode::file, "nowhere.onnx", [] { load("nowhere.onnx"); }},
    {"NoModel", ErrorCode::invalid_model, "not an ONNX model", [] { load_bytes("text"); }},
    {"NoText", ErrorCode::invalid_model, "", [] { parse("g (float x) => {"); }},
    {"NoFolder", ErrorCode::file, "nowhere", [] { save(parse(kLine), "nowhere/model.onnx"); }},
    {"NoLoss", ErrorCode::invalid_argument, "'none'",
     [] { prepare(parse(kLine), {.loss = "none"}); }},
    {"NoOptimizer", ErrorCode::invalid_argument, "'none'",
     [] { prepare(parse(kLine), {.loss = "mse", .optimizer = {.name = "none"}}); }},
    {"NoSetting", ErrorCode::invalid_argument, "beta1",
     [] { prepare(parse(kLine), {.loss = "mse", .optimizer = sgd(0.1, {{"beta1", 0.9}})}); }},
    {"NoInput", ErrorCode::data, "no input 'z'",
     [] { Trainer(trainable()).step({{"z", Tensor({1}, std::vector<float>{1})}}); }},
    {"WrongShape", ErrorCode::data, "",
     [] { Trainer(trainable()).infer({{"x", Tensor({1, 3}, std::vector<float>{1, 2, 3})}}); }},
    {"NoThreads", ErrorCode::invalid_argument, "threads",
     [] { Trainer(trainable(), {.threads = -1}); }},
    {"NoInfoToStep", ErrorCode::invalid_argument, "training info 7",
     [] { Trainer(trainable()).step(batch(), 7); }},
    {"NoState", ErrorCode::invalid_argument, "'z'", [] { (void)Trainer(trainable()).state("z"); }},
    {"NoInfo", ErrorCode::invalid_argument, "training info 3",
     [] { (void)trainable().training_inputs(3); }},
    {"NoFramework", ErrorCode::invalid_argument, "'caffe'",
     [] { export_to(trainable(), "caffe", "nowhere"); }},
    {"WrongSize", ErrorCode::invalid_argument, "", [] { Tensor({3}, std::vector<float>{1, 2}); }},
    {"HugeShape", ErrorCode::invalid_argument, "",
     [] { Tensor(DType::f32, {INT64_MAX, INT64_MAX}, {}); }},
    {"NoElementType", ErrorCode::invalid_argument, "200",
     [] { Tensor(static_cast<DType>(200), {0}, {}); }},
    {"OtherElementType", ErrorCode::invalid_argument, "f32[1]",
     [] { (void)Tensor({1}, std::vector<float>{1}).data<double>(); }},
    {"NoElement", ErrorCode::invalid_argument, "element 1",
     [] { (void)Tensor({1}, std::vector<float>{1}).number(1); }},
    {"NoBatch", ErrorCode::invalid_argument, "0 examples",
     [] { (void)Dataset(batch()).batches(0); }},
    {"NoData", ErrorCode::file, "nowhere", [] { open_dataset("nowhere.npz"); }},
    {"OtherLengths", ErrorCode::data, "examples",
     [] {
       Dataset(
           {{"a", Tensor({1}, std::vector<float>{1})}, {"b", Tensor({0}, std::vector<float>{})}});
     }},
    {"Unsupported", ErrorCode::unsupported, "",
     [] {
       Trainer(parse("<ir_version: 9, opset_import: [\"\" : 20, \"example\" : 1]> g (float[1] x) "
                     "=> (float[1] y) "
                     "{ y = example.Sort(x) }"))
           .infer({});
     }},
};

class ApiMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ApiMistakes, HaveACode) {
  try {
    GetParam().make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::strstr(error.what(), GetParam().message), nullptr) << error.what();
    return;
  }
  FAIL() << "nothing was thrown";
}

INSTANTIATE_TEST_SUITE_P(All, ApiMistakes, ::testing::ValuesIn(kMistakes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace onward
