#include "format/save.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "format/load.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModel = R"(
<ir_version: 8, opset_import: ["" : 17], producer_name: "someone">
m (float[N,2] x) => (float[N,600] y) <float[2,600] w = normal(1, 0.5), float[600] b = full(0.25)>
{ xw = MatMul(x, w)  y = Add(xw, b) }
training_info {
  algorithm count () => (int64 T_new) <int64 T = {3}, int64 one = {1}> { T_new = Add(T, one) }
  update_binding { T <- T_new }
}
)";

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

onnx::ModelProto proto_of(const Model& model, const SaveOptions& options = {}) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(to_bytes(model, options)));
  return proto;
}

Value* initializer(const Model& model, std::string_view name) {
  Value* found = nullptr;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (Value* value : graph.initializers()) {
      if (value->name() == name) found = value;
    }
  });
  return found;
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(Save, PatchesOnlyTheTensorsThatChanged) {
  Model model = parse_text(kModel);
  const onnx::ModelProto before = proto_of(model);
  Value* b = initializer(model, "b");
  model.graph->set_initializer(b, Tensor::of<float>({600}, std::vector<float>(600, 2.0F)));
  Value* count = initializer(model, "T");
  count->graph().set_initializer(count, Tensor::scalar<int64_t>(4));

  onnx::ModelProto expected = before;
  const std::vector<float> twos(600, 2.0F);
  for (auto& tensor : *expected.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "b") {
      tensor.clear_float_data();
      tensor.set_raw_data(twos.data(), twos.size() * sizeof(float));
    }
  }
  auto& T = *expected.mutable_training_info(0)->mutable_algorithm()->mutable_initializer(0);
  T.clear_int64_data();
  const int64_t four = 4;
  T.set_raw_data(&four, sizeof(four));
  EXPECT_EQ(proto_of(model).SerializeAsString(), expected.SerializeAsString());
}

TEST(Save, WritesAnewWhatChangedItsStructure) {
  Model model = parse_text(kModel);
  Node* negation = model.graph->add_node("Neg", {model.graph->outputs()[0]});
  negation->opset = 17;
  model.graph->add_output(negation->add_output("negative", Type::tensor(DType::f32)));
  const onnx::ModelProto proto = proto_of(model);
  EXPECT_EQ(proto.graph().node_size(), 3);
  EXPECT_EQ(proto.producer_name(), "someone");
  ASSERT_EQ(proto.training_info_size(), 1);
  EXPECT_EQ(proto.training_info(0).update_binding(0).key(), "T");
}

TEST(Save, LeavesTheModelUsable) {
  // The bytes are lent to the message while it is written, and must be back afterwards.
  const Model model = parse_text(kModel);
  const std::string once = to_bytes(model);
  EXPECT_EQ(to_bytes(model), once);
  EXPECT_EQ(to_bytes(load_bytes(once)), once);
}

TEST(Save, PutsLargeTensorsBesideTheModelOnRequest) {
  const TemporaryFolder folder;
  const Model model = parse_text(kModel);
  save(model, folder.path() / "m.onnx", {.external_data = true});
  EXPECT_EQ(files_in(folder.path()), 2u);
  EXPECT_LT(fs::file_size(folder.path() / "m.onnx"), 2000u);
  const Model again = load(folder.path() / "m.onnx");
  EXPECT_TRUE(std::ranges::equal(initializer(again, "w")->tensor()->bytes(),
                                 initializer(model, "w")->tensor()->bytes()));

  // A second save takes a data file of another name: the first model stays whole until the rename.
  save(again, folder.path() / "m.onnx", {.external_data = true});
  EXPECT_TRUE(
      std::ranges::equal(initializer(load(folder.path() / "m.onnx"), "w")->tensor()->bytes(),
                         initializer(model, "w")->tensor()->bytes()));
}

TEST(Save, LeavesTheDataOfAnOlderModelAlone) {
  const TemporaryFolder folder;
  Model model = parse_text(kModel);
  save(model, folder.path() / "m.onnx", {.external_data = true});
  fs::copy_file(folder.path() / "m.onnx", folder.path() / "older.onnx");
  model.graph->set_initializer(initializer(model, "b"),
                               Tensor::of<float>({600}, std::vector<float>(600, 2.0F)));
  save(model, folder.path() / "m.onnx", {.external_data = true});
  const Model newer = load(folder.path() / "m.onnx"), older = load(folder.path() / "older.onnx");
  EXPECT_EQ(initializer(newer, "b")->tensor()->number(0), 2);
  EXPECT_EQ(initializer(older, "b")->tensor()->number(0), 0.25);
}

TEST(Save, GivesTheRightsThatOtherNewFilesHave) {
  const TemporaryFolder folder;
  save(parse_text(kModel), folder.path() / "m.onnx");
  std::ofstream(folder.path() / "other") << "a file";
  EXPECT_EQ(fs::status(folder.path() / "m.onnx").permissions(),
            fs::status(folder.path() / "other").permissions());
}

TEST(Save, RefusesANodeThatMeansSomethingElseInTheModelsOpset) {
  Model model = parse_text(kModel);
  Value* y = model.graph->outputs()[0];
  Node* same = model.graph->add_node("Neg", {y});
  same->opset = 13;
  model.graph->add_output(same->add_output("negative", Type::tensor(DType::f32)));
  EXPECT_NO_THROW(to_bytes(model)) << "Neg is the same since opset 13";
  Node* sum = model.graph->add_node("BatchNormalization", {y, y, y, y, y});
  sum->opset = 13;
  sum->add_output("normalized", Type::tensor(DType::f32));
  try {
    to_bytes(model);
    FAIL() << "was saved";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("version 13 of its operator set"), std::string::npos)
        << error.what();
  }
}

TEST(Save, KeepsDataThatLiesInTheSameFolder) {
  const TemporaryFolder folder;
  save(parse_text(kModel), folder.path() / "a.onnx", {.external_data = true});
  const Model model = load(folder.path() / "a.onnx");
  save(model, folder.path() / "b.onnx");
  EXPECT_EQ(files_in(folder.path()), 3u);  // a.onnx, b.onnx and the data of both
  EXPECT_EQ(read_file(folder.path() / "a.onnx"), read_file(folder.path() / "b.onnx"));
}

TEST(Save, TakesExternalDataAlongToAnotherFolder) {
  const TemporaryFolder folder, other;
  save(parse_text(kModel), folder.path() / "a.onnx", {.external_data = true});
  save(load(folder.path() / "a.onnx"), other.path() / "a.onnx");
  fs::remove_all(folder.path());
  EXPECT_EQ(files_in(other.path()), 2u);
  EXPECT_EQ(initializer(load(other.path() / "a.onnx"), "b")->tensor()->number(599), 0.25);
}

TEST(Save, KeepsTheOldFileWhereTheDiskIsFull) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "m.onnx";
  const Model model = parse_text(kModel);
  save(model, file);
  const std::string before = read_file(file);

  // A limit on file sizes fails a write in the middle, as a full disk does.
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit small{.rlim_cur = 3000, .rlim_max = old_limit.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(save(model, file), Error);
  EXPECT_THROW(save(model, file, {.external_data = true}), Error);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);

  EXPECT_EQ(read_file(file), before);
  EXPECT_EQ(files_in(folder.path()), 1u);  // nothing unfinished is left behind
}

TEST(Save, SaysWhereItCannotWrite) {
  const Model model = parse_text(kModel);
  EXPECT_THROW(save(model, "/nonexistent/m.onnx"), Error);
}

TEST(Save, WritesThroughASymbolicLink) {
  const TemporaryFolder folder;
  fs::create_symlink("target.onnx", folder.path() / "link.onnx");
  save(parse_text(kModel), folder.path() / "link.onnx");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link.onnx"));
  EXPECT_TRUE(fs::is_regular_file(folder.path() / "target.onnx"));
}

}  // namespace
}  // namespace onward
