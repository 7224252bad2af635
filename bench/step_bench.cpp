// Times training steps: step_bench MODEL BATCH SECONDS THREADS prints one line of JSON, as
// bench/measure.py does for the peers. Open dimensions of inputs become BATCH; floats are random,
// integers are 0 to 9.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>

#include "format/load.h"
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

/// The seconds since the harness started this process.
double since_process_start() {
  const char* started = std::getenv("BENCH_STARTED");
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return started ? seconds - std::atof(started) : 0;
}

struct Options {
  std::string model;
  int64_t batch;
  double seconds;
  int threads;
  bool explain;
};

void run(const Options& options) {
  const auto& [file, batch, seconds, threads, explain] = options;
  Model model = load(file);
  TensorMap inputs;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole role) {
    if (role.kind == GraphRole::initialization) return;
    for (const Value* input : graph.inputs()) {
      inputs.insert_or_assign(input->name(), random_tensor(input->type, batch));
    }
  });
  Trainer trainer(std::move(model), {.threads = threads, .only_metrics = true});
  trainer.step(inputs);
  const double first = since_process_start();
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
  if (explain) fmt::print("{}", trainer.explain());
  fmt::print(
      "{{\"peer\": \"onward\", \"step_ms\": {:.4f}, \"first_step_s\": {:.4f}, \"peak_mb\": {}, "
      "\"steps\": {}}}\n",
      1e3 * times[times.size() / 2], first, usage.ru_maxrss / 1024, times.size());
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: step_bench MODEL BATCH SECONDS THREADS [--explain]\n");
    return 1;
  }
  try {
    onward::run({.model = argv[1],
                 .batch = std::atoll(argv[2]),
                 .seconds = std::atof(argv[3]),
                 .threads = std::atoi(argv[4]),
                 .explain = argc > 5});
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
