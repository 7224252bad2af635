// Times convolutions of one shape by each method, in turns, and measures their errors:
// conv_bench SECONDS THREADS [SHAPE...] with shapes such as 8x64x56x56-64k3s1p1 (images, channels,
// height, width - outputs, kernel, stride, padding). A line for each shape, direction and method:
// kernel, shortest time, operations of the direct sum per nanosecond, how many times as fast as the
// direct kernels, largest error and root of the mean square in units of those of the results. With
// one thread, times are those of the processor, which other programs disturb less.

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>

#include "onward/error.h"
#include "ops/builder.h"
#include "ops/infer_step.h"
#include "opset/lift.h"
#include "runtime/conv_method.h"
#include "runtime/parallel.h"
#include "runtime/program.h"

namespace onward {
namespace {

double now() {
  timespec time{};
  clock_gettime(threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Shape {
  std::string text;
  int64_t images, channels, height, width, outputs, kernel, stride, padding;

  int64_t along(int64_t size) const { return (size + 2 * padding - kernel) / stride + 1; }
  std::vector<int64_t> x() const { return {images, channels, height, width}; }
  std::vector<int64_t> w() const { return {outputs, channels, kernel, kernel}; }
  std::vector<int64_t> y() const { return {images, outputs, along(height), along(width)}; }
  double flops() const {
    return 2.0 * static_cast<double>(checked_element_count(y()) * channels * kernel * kernel);
  }
};

Shape parse_shape(const std::string& text) {
  Shape s{.text = text};
  const int read =
      std::sscanf(text.c_str(), "%ldx%ldx%ldx%ld-%ldk%lds%ldp%ld", &s.images, &s.channels,
                  &s.height, &s.width, &s.outputs, &s.kernel, &s.stride, &s.padding);
  if (read != 8) throw Error(fmt::format("'{}' is no shape like 8x64x56x56-64k3s1p1", text));
  return s;
}

/// The operands of a direction, and what it gives.
struct Direction {
  const char* op;
  std::vector<int64_t> a, b, result;
  bool b_is_image;
};

std::vector<Direction> directions(const Shape& s) {
  return {{"Conv", s.x(), s.w(), s.y(), false},
          {"ConvGradX", s.y(), s.w(), s.x(), false},
          {"ConvGradW", s.x(), s.y(), s.w(), true}};
}

Model model_of(const Shape& s, const Direction& d, DType dtype) {
  Model model;
  model.opsets = {{"", *newest_opset("")}};
  Graph& graph = *model.graph;
  std::vector<Value*> inputs = {graph.add_input("a", Type::tensor(dtype, std::span(d.a))),
                                graph.add_input("b", Type::tensor(dtype, std::span(d.b)))};
  const bool is_gradient = d.op != std::string("Conv");
  if (is_gradient) {
    const auto rank = static_cast<int64_t>(d.result.size());
    inputs.push_back(graph.add_initializer("shape", Tensor::of<int64_t>({rank}, d.result)));
  }
  Node* node = graph.add_node(d.op, inputs);
  node->opset = is_gradient ? 1 : *newest_opset("");
  if (is_gradient) node->domain = kInternalDomain;
  using List = std::vector<int64_t>;
  node->set_attribute({"strides", List{s.stride, s.stride}});
  node->set_attribute({"pads", List(4, s.padding)});
  graph.add_output(node->add_output("y", Type::tensor(dtype, std::span(d.result))));
  return model;
}

Tensor random_tensor(const std::vector<int64_t>& dims, uint32_t seed, bool is_relu) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(checked_element_count(dims)));
  for (float& value : values) value = is_relu ? std::max(0.0F, normal(random)) : normal(random);
  return Tensor::of<float>(dims, values);
}

Tensor in_f64(const Tensor& tensor) {
  const auto from = tensor.data<float>();
  return Tensor::of<double>(tensor.dims(), std::vector<double>(from.begin(), from.end()));
}

Tensor computed(const Shape& s, const Direction& d, const TensorMap& inputs, DType dtype) {
  Model model = model_of(s, d, dtype);
  State state(model);
  return Program(std::move(model)).run(inputs, state).at("y");
}

/// A plan with memory of its own.
struct Timed {
  ConvMethod method;
  std::unique_ptr<Plan> plan;
  std::vector<Buffer> memory;
  std::vector<std::byte*> pointers;
  std::string kernel;
  double best = std::numeric_limits<double>::infinity(), sum = 0;
  int64_t runs = 0;
  double error = 0, mean_error = 0;

  Timed(ConvMethod wanted, const Shape& s, const Direction& d, const TensorMap& inputs)
      : method(wanted) {
    const ConvMethodScope scope(method);
    PlanRequest request{.outputs = {{"y", 0}}, .goes_on = true};
    request.input_layouts["a"] = Layout::channels_last;
    if (d.b_is_image) request.input_layouts["b"] = Layout::channels_last;
    plan = make_plan(model_of(s, d, DType::f32), request, [](const std::string&) { return false; });
    for (const SlotInfo& slot : plan->slots) {
      std::byte* at = memory.emplace_back(slot.bytes).data();
      if (slot.home == SlotInfo::Home::input) {
        std::copy_n(inputs.at(slot.name).bytes().data(), slot.bytes, at);
      } else if (slot.home == SlotInfo::Home::constant) {
        std::copy_n(slot.constant.bytes().data(), slot.bytes, at);
      }
      pointers.push_back(at);
    }
    kernel = plan->micro.back().kernel;
  }

  /// The processor's time is counted in ticks, which only a mean makes up for.
  double seconds() const { return threads() == 1 ? sum / static_cast<double>(runs) : best; }

  void run() {
    const eval::RandomKey random;
    const Run run{.pointers = pointers.data(), .random = &random};
    const double begun = now();
    for (const Action& action : plan->micro) action.run(run);
    const double seconds = now() - begun;
    best = std::min(best, seconds);
    sum += seconds;
    ++runs;
  }
};

void measure_errors(const Shape& s, const Direction& d, const TensorMap& inputs,
                    std::vector<Timed>& methods) {
  const TensorMap wide = {{"a", in_f64(inputs.at("a"))}, {"b", in_f64(inputs.at("b"))}};
  const Tensor exact = computed(s, d, wide, DType::f64);
  double largest = 0, square = 0;
  for (const double value : exact.data<double>()) {
    largest = std::max(largest, std::fabs(value));
    square += value * value;
  }
  for (Timed& each : methods) {
    const ConvMethodScope scope(each.method);
    const Tensor given = computed(s, d, inputs, DType::f32);
    double worst = 0, errors = 0;
    for (size_t i = 0; i < given.data<float>().size(); ++i) {
      const double error = given.data<float>()[i] - exact.data<double>()[i];
      worst = std::max(worst, std::fabs(error));
      errors += error * error;
    }
    each.error = worst / largest;
    each.mean_error = std::sqrt(errors / square);
  }
}

void measure(const Shape& s, double seconds) {
  for (const Direction& d : directions(s)) {
    const TensorMap inputs = {{"a", random_tensor(d.a, 1, d.op != std::string("ConvGradX"))},
                              {"b", random_tensor(d.b, 2, false)}};
    std::vector<Timed> methods;
    for (const ConvMethod method :
         {ConvMethod::direct, ConvMethod::winograd_2x2, ConvMethod::winograd_4x4, ConvMethod::taps,
          ConvMethod::fastest}) {
      methods.emplace_back(method, s, d, inputs);
    }
    const double begun = now();
    for (int round = 0; round < 3 || now() - begun < seconds; ++round) {
      for (Timed& each : methods) each.run();
    }
    measure_errors(s, d, inputs, methods);
    for (const Timed& each : methods) {
      fmt::print("{:24} {:10} {:14} {:14} {:9.3f} ms {:6.0f} GFLOPS {:6.2f} times  {:.1e} {:.1e}\n",
                 s.text, d.op, name(each.method), each.kernel, 1e3 * each.seconds(),
                 1e-9 * s.flops() / each.seconds(), methods[0].seconds() / each.seconds(),
                 each.error, each.mean_error);
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: conv_bench SECONDS THREADS [SHAPE...]\n");
    return 1;
  }
  try {
    const onward::Threads threads(std::atoi(argv[2]));
    std::vector<std::string> shapes(argv + 3, argv + argc);
    if (shapes.empty()) {
      for (const char* images : {"8", "16"}) {
        for (const char* rest :
             {"x64x56x56-64", "x128x28x28-128", "x256x14x14-256", "x512x7x7-512"}) {
          shapes.push_back(fmt::format("{}{}k3s1p1", images, rest));
        }
      }
    }
    for (const std::string& shape : shapes)
      onward::measure(onward::parse_shape(shape), std::atof(argv[1]));
  } catch (const onward::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
