// Times training steps: step_bench MODEL BATCH.npz SECONDS THREADS prints one line of JSON, as
// bench/measure.py does for the peers. The arrays are named as the model's inputs.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "data/convert.h"
#include "data/feeds.h"
#include "data/npz.h"
#include "format/load.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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
  std::string model, batch;
  double seconds;
  int threads;
  bool explain;
};

void run(const Options& options) {
  const auto& [file, batch, seconds, threads, explain] = options;
  Model model = load(file);
  TensorMap inputs;
  Arrays arrays = read_npz(batch);
  for (const InputSlot& slot : input_slots(model)) {
    const auto array = arrays.find(slot.name);
    if (array == arrays.end()) throw Error(fmt::format("'{}' has no array '{}'", batch, slot.name));
    inputs.emplace(slot.name, fitted(array->second, slot.type));
  }
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
      "{{\"peer\": \"onward\", \"step_ms\": {:.4f}, \"min_ms\": {:.4f}, \"first_step_s\": {:.4f}, "
      "\"peak_mb\": {}, \"steps\": {}}}\n",
      1e3 * times[times.size() / 2], 1e3 * times[0], first, usage.ru_maxrss / 1024, times.size());
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: step_bench MODEL BATCH.npz SECONDS THREADS [--explain]\n");
    return 1;
  }
  try {
    onward::run({.model = argv[1],
                 .batch = argv[2],
                 .seconds = std::atof(argv[3]),
                 .threads = std::atoi(argv[4]),
                 .explain = argc > 5});
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
