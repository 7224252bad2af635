#include "tests/ops/case.h"

namespace onward {
namespace {

/// A signal times a window of its length; "," before more attributes.
Case window(std::string name, const std::string& op, int64_t size,
            const std::string& attributes = "") {
  return {std::move(name),
          "size = Constant<value = int64 {" + std::to_string(size) + "}>()\nw = " + op +
              "<output_datatype = 11" + attributes + ">(size)\ny = Mul(x, w)",
          {f64("x", {2, size})}};
}

/// A matrix of some bands over the frequencies of a transform.
Case mel(std::string name, const std::string& bands, const std::string& length,
         const std::string& rate, double lower, double upper) {
  return Case{
      std::move(name),
      "bands = Constant<value = int64 {" + bands + "}>()\nlength = Constant<value = int64 {" +
          length + "}>()\nrate = Constant<value = int64 {" + rate +
          "}>()\ny = MelWeightMatrix<output_datatype = 11>(bands, length, rate, lower, upper)",
      {f64("lower", {}, lower, lower), f64("upper", {}, upper, upper)}}
      .without_gradient();
}

const Case kCases[] = {
    window("HannWindow", "HannWindow", 10),
    window("HannWindow symmetric", "HannWindow", 9, ", periodic = 0"),
    window("HannWindow of one", "HannWindow", 1),
    window("HammingWindow", "HammingWindow", 10),
    window("HammingWindow symmetric", "HammingWindow", 8, ", periodic = 0"),
    window("BlackmanWindow", "BlackmanWindow", 10),
    window("BlackmanWindow symmetric", "BlackmanWindow", 8, ", periodic = 0"),
    Case{"HannWindow of a size that is an input",
         "y = HannWindow<output_datatype = 11>(size)",
         {i64("size", {}, {7})}}
        .without_gradient(),
    Case{"HannWindow of float32",
         "size = Constant<value = int32 {6}>()\nw = HannWindow(size)\ny = Mul(x, w)",
         {f64("x", {2, 6})}}
        .in_f32()
        .without_gradient(),
    {"HannWindow of integers",
     "size = Constant<value = int64 {5}>()\n"
     "i = HannWindow<output_datatype = 7, periodic = 0>(size)\n"
     "w = Cast<to = 11>(i)\ny = Mul(x, w)",
     {f64("x", {5})}},

    mel("MelWeightMatrix", "8", "16", "8192", 20, 4090),
    mel("MelWeightMatrix of wide bands", "3", "40", "16000", 60, 7500),
    mel("MelWeightMatrix of more bands than frequencies", "12", "9", "8000", 100, 3000),

    Case{"HannWindow of a negative size",
         "y = HannWindow<output_datatype = 11>(size)",
         {i64("size", {}, {-3})}}
        .refused("it holds -3"),
    Case{"HannWindow of two sizes",
         "y = HannWindow<output_datatype = 11>(size)",
         {i64("size", {4, 5})}}
        .refused("scalar"),
};

}  // namespace

std::span<const Case> signal_cases() { return kCases; }

}  // namespace onward
