// What comes back from a folder: every tensor in the model's own order of dimensions, of one save.

#include "emit/take.h"

#include <gtest/gtest.h>

#include "emit/export.h"
#include "emit/safetensors.h"
#include "format/load.h"
#include "infer/infer.h"
#include "onward/error.h"
#include "recipe/recipe.h"
#include "tests/temporary_folder.h"

namespace onward::emit {
namespace {

Model job() {
  Model model = parse_text(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[N,2,6,7] x) => (float[N,3,5,4] y) <float[3,2,2,4] kernel = uniform(1, -1, 1)> { y = Conv(x, kernel) })");
  Problems problems;
  infer_types(model, problems);
  return prepare(std::move(model), {.loss = "mse"});
}

NamedTensors tensors_of(const Model& model) {
  NamedTensors tensors;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (const Value* value : graph.initializers()) {
      tensors.emplace_back(value->name(), *value->tensor());
    }
  });
  return tensors;
}

TEST(Take, GivesBackWhatWasExported) {
  for (const char* to : {"torch", "keras"}) {
    const TemporaryFolder folder;
    Model model = job();
    export_model(model, folder.path() / "out", {.to = to, .info = 0});
    const NamedTensors before = tensors_of(model);
    take(folder.path() / "out", model);
    const NamedTensors after = tensors_of(model);
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after[i].second.dims(), before[i].second.dims()) << before[i].first;
      EXPECT_TRUE(std::ranges::equal(after[i].second.bytes(), before[i].second.bytes()))
          << before[i].first;
    }
  }
}

TEST(Take, RefusesFilesOfTwoSaves) {
  const TemporaryFolder folder;
  Model model = job();
  export_model(model, folder.path(), {.to = "torch", .info = 0});
  const auto mark = [&](const char* file, const std::string& save) {
    const Safetensors saved = read_safetensors(folder.path() / file);
    const NamedTensors tensors(saved.tensors.begin(), saved.tensors.end());
    write_safetensors(folder.path() / file, tensors, {{"save", save}});
  };
  mark("weights.safetensors", "first");
  mark("optimizer.safetensors", "first");
  EXPECT_NO_THROW(take(folder.path(), model));
  mark("optimizer.safetensors", "second");
  EXPECT_THROW(take(folder.path(), model), Error);
}

}  // namespace
}  // namespace onward::emit
