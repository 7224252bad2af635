// Computes elementwise functions in each way that there is, for the test of their accuracy:
// elementwise_tool list                      all functions and ways, as JSON
// elementwise_tool WAY INPUTS.npz OUT.npz    INPUTS has operands "3/a", "3/b", "3/c" of function 3

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/npz.h"
#include "eval/elementwise_table.h"
#include "eval/kernel.h"
#include "onward/error.h"
#include "runtime/tile_table.h"

namespace onward {
namespace {

using Operands = std::vector<const Tensor*>;
constexpr std::string_view kReference = "reference";

std::vector<std::string_view> ways() {
  std::vector<std::string_view> all = {kReference, "any machine"};
  if (has_avx2()) all.emplace_back("AVX2");
  return all;
}

/// All functions; some operators are made of the functions of others.
std::vector<TileEntry> functions(std::span<const TileEntry> entries) {
  std::vector<TileEntry> all;
  for (const TileEntry& entry : entries) {
    const elementwise::Facts* facts = elementwise::find_facts(entry.op);
    if (!facts || (facts->joins_inputs() && facts->joined_by[0] != entry.op)) continue;
    all.push_back(entry);
  }
  return all;
}

void list() {
  nlohmann::json all;
  all["ways"] = ways();
  for (const TileEntry& entry : functions(any_machine::tile_entries())) {
    all["functions"].push_back({{"op", entry.op},
                                {"form", entry.form},
                                {"from", name(entry.from)},
                                {"to", name(entry.to)}});
  }
  fmt::print("{}\n", all.dump());
}

/// A node of the function's form, whose attributes have their defaults.
Node& make_node(Graph& graph, const TileEntry& function) {
  Node& node = *graph.add_node(std::string(function.op), {});
  const std::string_view attribute = elementwise::find_facts(function.op)->form.attribute;
  if (!function.form.empty())
    node.set_attribute({std::string(attribute), std::string(function.form)});
  if (function.op == "Cast") node.set_attribute({"to", static_cast<int64_t>(function.to)});
  return node;
}

Tensor by_tiles(const TileEntry& function, const Node& node, const Operands& operands) {
  const void* at[3] = {};
  for (size_t i = 0; i < operands.size(); ++i) at[i] = operands[i]->bytes().data();
  const int64_t count = operands[0]->size();
  const auto size = static_cast<size_t>(*packed_bytes(function.to, count));
  const auto bytes = std::make_shared<std::string>(size, '\0');
  function.function(at[0], at[1], at[2], bytes->data(), count,
                    elementwise::find_facts(node)->attributes_of(node));
  return Tensor::from_bytes(function.to, {count}, bytes);
}

void compute(std::string_view way, const char* inputs, const char* out) {
  const Arrays given = read_npz(inputs);
  const auto all =
      functions(way == "AVX2" ? with_avx2::tile_entries() : any_machine::tile_entries());
  Arrays results;
  for (size_t i = 0; i < all.size(); ++i) {
    Operands operands;
    for (const char letter : {'a', 'b', 'c'}) {
      const auto found = given.find(fmt::format("{}/{}", i, letter));
      if (found != given.end()) operands.push_back(&found->second);
    }
    if (operands.empty()) continue;
    Graph graph;
    const Node& node = make_node(graph, all[i]);
    results.emplace(std::to_string(i), way == kReference ? eval::run_node(node, operands).at(0)
                                                         : by_tiles(all[i], node, operands));
  }
  write_npz(results, out);
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  try {
    if (argc == 2) {
      onward::list();
    } else if (argc == 4) {
      onward::compute(argv[1], argv[2], argv[3]);
    } else {
      throw onward::Error("usage: elementwise_tool list | WAY INPUTS.npz OUT.npz");
    }
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
