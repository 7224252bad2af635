// Times training steps, for the benchmarks: step_tool MODEL BATCH SECONDS prints one line of JSON.
// Open dimensions of inputs become BATCH; floats are random, integers are 0 to 9.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>

#include "ir/load.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Tensor random_tensor(const Type& type, int64_t batch) {
  std::vector<int64_t> dims;
  for (const Dim& dim : *type.shape) dims.push_back(dim.value.value_or(batch));
  std::mt19937 random(1);
  const auto count = static_cast<size_t>(checked_element_count(dims));
  if (type.dtype == DType::i64) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 10);
    return Tensor::of<int64_t>(dims, values);
  }
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return Tensor::of<float>(dims, values);
}

void run(const std::string& file, int64_t batch, double seconds, bool explain) {
  const auto start = Clock::now();
  Model model = load(file);
  TensorMap inputs;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole role) {
    if (role.kind == GraphRole::initialization) return;
    for (const Value* input : graph.inputs()) {
      inputs.insert_or_assign(input->name(), random_tensor(input->type, batch));
    }
  });
  Trainer trainer(std::move(model));
  trainer.step(inputs);
  const double first = seconds_since(start);
  std::vector<double> times;
  const auto begun = Clock::now();
  while (seconds_since(begun) < seconds || times.size() < 3) {
    const auto step = Clock::now();
    trainer.step(inputs);
    times.push_back(seconds_since(step));
  }
  std::ranges::sort(times);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"peer\": \"onward\", \"step_ms\": {:.3f}, \"min_ms\": {:.3f}, \"n\": {}, "
      "\"first_step_s\": {:.3f}, \"peak_mb\": {}}}\n",
      1e3 * times[times.size() / 2], 1e3 * times[0], times.size(), first, usage.ru_maxrss / 1024);
  if (explain) fmt::print("{}", trainer.explain());
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: step_tool MODEL BATCH SECONDS [--explain]\n");
    return 1;
  }
  try {
    onward::run(argv[1], std::atoll(argv[2]), std::atof(argv[3]), argc > 4);
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
