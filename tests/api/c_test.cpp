// The C interface, called from C++; examples/c is compiled as C.

#include <gtest/gtest.h>
#include <onward/onward_c.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string line_file() {
  const std::string file = ::testing::TempDir() + "/onward_c_test.onnxtxt";
  std::ofstream(file) << R"(
    <ir_version: 8, opset_import: ["" : 17]>
    line (float[N,1] x) => (float[N,1] y) <float[1,1] w = full(0)> { y = MatMul(x, w) })";
  return file;
}

onward_tensor tensor_of(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  return {ONWARD_F32, shape.size(), shape.data(), values.data(), values.size() * sizeof(float)};
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(onward_load(line_file().c_str(), &inference_), ONWARD_OK) << onward_last_error();
    const onward_setting settings[] = {{"lr", 0.05}};
    const char* const train[] = {"w"};
    onward_prepare_options options = ONWARD_PREPARE_OPTIONS;
    options.loss = "mse";
    options.optimizer = "sgd";
    options.settings = settings;
    options.setting_count = 1;
    options.train = train;
    options.train_count = 1;
    ASSERT_EQ(onward_prepare(inference_, &options, &model_), ONWARD_OK) << onward_last_error();
    ASSERT_EQ(onward_trainer_create(model_, 1, 1, &trainer_), ONWARD_OK) << onward_last_error();
    ASSERT_EQ(onward_tensors_create(&batch_), ONWARD_OK);
    set("x", {1, 2});
    set("label", {3, 6});
  }

  void set(const char* name, const std::vector<float>& values) {
    const onward_tensor tensor = tensor_of(values, shape_);
    ASSERT_EQ(onward_tensors_set(batch_, name, &tensor), ONWARD_OK) << onward_last_error();
  }

  void TearDown() override {
    onward_tensors_free(batch_);
    onward_trainer_free(trainer_);
    onward_model_free(model_);
    onward_model_free(inference_);
  }

  const std::vector<int64_t> shape_ = {2, 1};
  onward_model *inference_ = nullptr, *model_ = nullptr;
  onward_trainer* trainer_ = nullptr;
  onward_tensors* batch_ = nullptr;
};

double number(const onward_tensors* tensors, const char* name) {
  double value = 0;
  EXPECT_EQ(onward_tensors_number(tensors, name, 0, &value), ONWARD_OK) << onward_last_error();
  return value;
}

TEST_F(CApi, Trains) {
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(onward_trainer_step(trainer_, batch_, nullptr), ONWARD_OK);
  onward_tensors* outputs = nullptr;
  ASSERT_EQ(onward_trainer_step(trainer_, batch_, &outputs), ONWARD_OK) << onward_last_error();
  EXPECT_LT(number(outputs, "loss"), 1e-3);
  onward_tensors_free(outputs);

  ASSERT_EQ(onward_trainer_state(trainer_, &outputs), ONWARD_OK);
  ASSERT_GE(onward_tensors_count(outputs), 1U);
  EXPECT_EQ(onward_tensors_name(outputs, onward_tensors_count(outputs)), nullptr);
  EXPECT_NEAR(number(outputs, "w"), 3, 0.1);
  onward_tensor w{};
  ASSERT_EQ(onward_tensors_get(outputs, "w", &w), ONWARD_OK);
  EXPECT_EQ(w.dtype, ONWARD_F32);
  EXPECT_EQ(w.rank, 2U);
  EXPECT_EQ(w.bytes, sizeof(float));

  onward_trainer* other = nullptr;
  onward_tensors* inferred = nullptr;
  ASSERT_EQ(onward_trainer_create(model_, 1, 1, &other), ONWARD_OK);
  ASSERT_EQ(onward_trainer_set_state(other, outputs), ONWARD_OK) << onward_last_error();
  onward_tensors* x = nullptr;
  ASSERT_EQ(onward_tensors_create(&x), ONWARD_OK);
  const std::vector<float> values = {1, 2};
  const onward_tensor given = tensor_of(values, shape_);
  ASSERT_EQ(onward_tensors_set(x, "x", &given), ONWARD_OK);
  ASSERT_EQ(onward_trainer_infer(other, x, &inferred), ONWARD_OK) << onward_last_error();
  EXPECT_NEAR(number(inferred, "y"), 3, 0.1);
  for (onward_tensors* each : {outputs, inferred, x}) onward_tensors_free(each);
  onward_trainer_free(other);
}

TEST_F(CApi, SavesAndLoads) {
  const std::string file = ::testing::TempDir() + "/onward_c_test.onnx";
  ASSERT_EQ(onward_trainer_step(trainer_, batch_, nullptr), ONWARD_OK);
  ASSERT_EQ(onward_trainer_save(trainer_, file.c_str()), ONWARD_OK) << onward_last_error();
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  onward_model *loaded = nullptr, *current = nullptr;
  EXPECT_EQ(onward_load_bytes(bytes.data(), bytes.size(), &loaded), ONWARD_OK)
      << onward_last_error();
  EXPECT_EQ(onward_trainer_model(trainer_, &current), ONWARD_OK);
  EXPECT_EQ(onward_save(current, file.c_str()), ONWARD_OK);
  onward_model_free(current);
  onward_model_free(loaded);
}

TEST_F(CApi, RefusesWithACode) {
  onward_model* model = model_;
  EXPECT_EQ(onward_load("nowhere.onnx", &model), ONWARD_FILE);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::strstr(onward_last_error(), "nowhere.onnx"), nullptr);
  EXPECT_EQ(onward_load_bytes("text", 4, &model), ONWARD_INVALID_MODEL);
  EXPECT_EQ(onward_load(nullptr, &model), ONWARD_INVALID_ARGUMENT);
  EXPECT_EQ(onward_load("nowhere.onnx", nullptr), ONWARD_INVALID_ARGUMENT);
  EXPECT_EQ(onward_save(nullptr, "x"), ONWARD_INVALID_ARGUMENT);
  EXPECT_STREQ(onward_last_error(), "model is NULL");
  onward_prepare_options options = ONWARD_PREPARE_OPTIONS;
  options.loss = "none";
  EXPECT_EQ(onward_prepare(inference_, &options, &model), ONWARD_INVALID_ARGUMENT);
  options.struct_size = 1000;
  EXPECT_EQ(onward_prepare(inference_, &options, &model), ONWARD_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(onward_last_error(), "struct_size"), nullptr);
  onward_tensors* none = nullptr;
  EXPECT_EQ(onward_trainer_step(trainer_, nullptr, &none), ONWARD_INVALID_ARGUMENT);
  EXPECT_EQ(onward_trainer_infer(trainer_, batch_, nullptr), ONWARD_INVALID_ARGUMENT);
  EXPECT_EQ(onward_trainer_create(model_, 0, -1, nullptr), ONWARD_INVALID_ARGUMENT);
  const std::vector<float> values = {1, 2};
  const std::vector<int64_t> shape = {3};
  const onward_tensor wrong = tensor_of(values, shape);
  EXPECT_EQ(onward_tensors_set(batch_, "x", &wrong), ONWARD_INVALID_ARGUMENT);
  double value = 0;
  EXPECT_EQ(onward_tensors_number(batch_, "z", 0, &value), ONWARD_INVALID_ARGUMENT);
  EXPECT_EQ(onward_tensors_number(batch_, "x", 7, &value), ONWARD_INVALID_ARGUMENT);
  onward_dataset* data = nullptr;
  EXPECT_EQ(onward_dataset_open("nowhere.npz", &data), ONWARD_FILE);
  onward_model_free(nullptr);
  onward_trainer_free(nullptr);
  onward_tensors_free(nullptr);
  onward_dataset_free(nullptr);
}

TEST_F(CApi, EachThreadHasItsOwnLastError) {
  ASSERT_NE(onward_load("nowhere.onnx", nullptr), ONWARD_OK);
  std::string other = "none";
  std::thread([&] { other = onward_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_NE(std::string(onward_last_error()), "");
}

TEST_F(CApi, TellsTheLog) {
  std::vector<std::string> told;
  onward_set_log_callback(
      [](onward_log_level, const char* message, void* list) {
        static_cast<std::vector<std::string>*>(list)->emplace_back(message);
      },
      &told);
  onward_set_log_callback(nullptr, nullptr);
  EXPECT_TRUE(told.empty());
  EXPECT_STREQ(onward_version(), "0.1.0");
}

TEST_F(CApi, ReadsDatasets) {
  onward_dataset *data = nullptr, *shuffled = nullptr;
  onward_tensors* rows = nullptr;
  ASSERT_EQ(onward_dataset_open("examples/digits-test.npz", &data), ONWARD_OK)
      << onward_last_error();
  ASSERT_EQ(onward_dataset_shuffled(data, 1, 0, &shuffled), ONWARD_OK);
  const int64_t size = onward_dataset_size(data);
  ASSERT_GT(size, 5);
  ASSERT_EQ(onward_dataset_rows(shuffled, size - 5, 32, &rows), ONWARD_OK);
  onward_tensor label{};
  ASSERT_EQ(onward_tensors_get(rows, "label", &label), ONWARD_OK);
  EXPECT_EQ(label.shape[0], 5);
  onward_tensors_free(rows);
  EXPECT_EQ(onward_dataset_rows(data, size + 1, 1, &rows), ONWARD_INVALID_ARGUMENT);
  EXPECT_EQ(rows, nullptr);
  onward_dataset_free(shuffled);
  onward_dataset_free(data);
}

}  // namespace
