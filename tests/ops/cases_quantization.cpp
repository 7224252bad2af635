// These operators know no float64: what they read and give is float32, and integers are cast. Their
// gradients are estimates, which no differences show: tests/ops/quantization_test.cpp has those.

#include "tests/ops/case.h"

namespace onward {
namespace {

CaseInput f32(std::string name, std::vector<int64_t> dims, double low = -2, double high = 2) {
  CaseInput input = f64(std::move(name), std::move(dims), low, high);
  input.dtype = DType::f32;
  return input;
}

/// Given numbers, of any type.
CaseInput given(std::string name, DType dtype, std::vector<int64_t> dims,
                std::vector<double> values) {
  return {.name = std::move(name),
          .dtype = dtype,
          .dims = std::move(dims),
          .values = std::move(values)};
}

/// Random integers of 8 bits.
CaseInput u8(std::string name, std::vector<int64_t> dims) {
  return {.name = std::move(name),
          .dtype = DType::u8,
          .dims = std::move(dims),
          .low = 0,
          .high = 256,
          .values = {}};
}
CaseInput i8(std::string name, std::vector<int64_t> dims) {
  return {.name = std::move(name),
          .dtype = DType::i8,
          .dims = std::move(dims),
          .low = -128,
          .high = 128,
          .values = {}};
}

Case quantized(std::string name, std::string text, std::vector<CaseInput> inputs) {
  return Case{std::move(name), std::move(text), std::move(inputs)}.in_f32().without_gradient();
}

const Case kCases[] = {
    // Ties, and what is beyond the range.
    quantized("QuantizeLinear", "q = QuantizeLinear(x, s, z)\n  y = Cast<to = 1>(q)",
              {given("x", DType::f32, {2, 4}, {0.25, 0.75, 1.25, -0.25, 80, -80, -63.75, 1}),
               given("s", DType::f32, {}, {0.5}), given("z", DType::u8, {}, {127})}),
    quantized("QuantizeLinear of the default type",
              "q = QuantizeLinear(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {3, 2}, -1, 4), given("s", DType::f32, {1}, {0.013})}),
    quantized("QuantizeLinear to 16 bits",
              "q = QuantizeLinear<output_dtype = 5>(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {3, 2}, -40, 40), given("s", DType::f32, {}, {0.001})}),
    quantized("QuantizeLinear by channels", "q = QuantizeLinear(x, s, z)\n  y = Cast<to = 1>(q)",
              {f32("x", {2, 3, 2, 2}), given("s", DType::f32, {3}, {0.5, 0.01, 0.02}),
               given("z", DType::i8, {3}, {0, -7, 100})}),
    quantized("QuantizeLinear axis", "q = QuantizeLinear<axis = -3>(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {2, 3, 2}), given("s", DType::f32, {2}, {0.02, 0.01})}),
    quantized("QuantizeLinear in blocks",
              "q = QuantizeLinear<axis = 1, block_size = 2>(x, s, z)\n  y = Cast<to = 1>(q)",
              {f32("x", {2, 5}), given("s", DType::f32, {2, 3}, {0.5, 0.1, 0.02, 0.01, 0.2, 0.3}),
               given("z", DType::i8, {2, 3}, {1, 2, 3, -4, -5, -6})}),
    quantized("QuantizeLinear precision",
              "h = Cast<to = 10>(s)\n  q = QuantizeLinear<precision = 1, output_dtype = 3>(x, h)\n"
              "  y = Cast<to = 1>(q)",
              {f32("x", {3, 2}), given("s", DType::f32, {}, {0.015625})}),
    quantized("QuantizeLinear to 4 bits",
              "q = QuantizeLinear<output_dtype = 22>(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {3, 3}), given("s", DType::f32, {}, {0.2})}),
    quantized("QuantizeLinear to 8-bit floats",
              "q = QuantizeLinear<output_dtype = 17>(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {3, 3}, -600, 600), given("s", DType::f32, {}, {0.75})}),
    quantized("QuantizeLinear to 8-bit floats that do not saturate",
              "q = QuantizeLinear<output_dtype = 19, saturate = 0>(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {3, 3}, -600, 600), given("s", DType::f32, {}, {0.75})}),
    quantized("DequantizeLinear", "y = DequantizeLinear(q, s, z)",
              {u8("q", {2, 3}), given("s", DType::f32, {}, {0.3}), given("z", DType::u8, {}, {9})}),
    quantized(
        "DequantizeLinear without a zero point", "y = DequantizeLinear(q, s)",
        {given("q", DType::i32, {3}, {-70000, 3, 1 << 30}), given("s", DType::f32, {1}, {0.3})}),
    quantized("DequantizeLinear by channels", "y = DequantizeLinear(q, s, z)",
              {i8("q", {2, 3, 2}), given("s", DType::f32, {3}, {0.3, 0.1, 0.2}),
               given("z", DType::i8, {3}, {9, 0, -5})}),
    quantized("DequantizeLinear axis", "y = DequantizeLinear<axis = -1>(q, s)",
              {i8("q", {2, 3}), given("s", DType::f32, {3}, {0.3, 0.1, 0.2})}),
    quantized("DequantizeLinear in blocks",
              "y = DequantizeLinear<axis = 0, block_size = 2>(q, s, z)",
              {i8("q", {3, 2}), given("s", DType::f32, {2, 2}, {0.3, 0.1, 0.2, 0.7}),
               given("z", DType::i8, {2, 2}, {1, 2, 3, 4})}),
    quantized("DequantizeLinear output_dtype",
              "h = DequantizeLinear<output_dtype = 10>(q, s)\n  y = Cast<to = 1>(h)",
              {i8("q", {2, 3}), given("s", DType::f32, {}, {0.3})}),
    quantized("DynamicQuantizeLinear",
              "q, s, z = DynamicQuantizeLinear(x)\n  y = Cast<to = 1>(q)\n  t = Cast<to = 1>(z)",
              {f32("x", {2, 3}, -1, 2)})
        .giving({"y", "s", "t"}),
    quantized("DynamicQuantizeLinear of positive numbers",
              "q, s, z = DynamicQuantizeLinear(x)\n  y = Cast<to = 1>(q)", {f32("x", {2, 3}, 1, 2)})
        .giving({"y", "s"}),
    quantized("MatMulInteger", "p = MatMulInteger(a, b)\n  y = Cast<to = 1>(p)",
              {u8("a", {2, 3}), i8("b", {3, 4})}),
    quantized("MatMulInteger with zero points",
              "p = MatMulInteger(a, b, za, zb)\n  y = Cast<to = 1>(p)",
              {u8("a", {2, 2, 3}), i8("b", {3, 4}), given("za", DType::u8, {}, {12}),
               given("zb", DType::i8, {1}, {-3})}),
    quantized("MatMulInteger by rows and columns",
              "p = MatMulInteger(a, b, za, zb)\n  y = Cast<to = 1>(p)",
              {u8("a", {2, 3}), u8("b", {3, 4}), given("za", DType::u8, {2}, {12, 200}),
               given("zb", DType::u8, {4}, {1, 2, 3, 250})}),
    quantized(
        "MatMulInteger by rows of each matrix",
        "p = MatMulInteger(a, b, za, zb)\n  y = Cast<to = 1>(p)",
        {u8("a", {2, 2, 3}), u8("b", {2, 3, 2}), given("za", DType::u8, {2, 2, 1}, {12, 200, 1, 2}),
         given("zb", DType::u8, {2, 1, 2}, {1, 2, 3, 250})}),
    quantized("ConvInteger", "p = ConvInteger(x, w)\n  y = Cast<to = 1>(p)",
              {u8("x", {1, 2, 4, 4}), i8("w", {3, 2, 2, 2})}),
    quantized("ConvInteger with all that there is",
              "p = ConvInteger<group = 2, dilations = [2, 1], kernel_shape = [2, 3],"
              " pads = [1, 0, 2, 1], strides = [2, 3]>(x, w, zx, zw)\n  y = Cast<to = 1>(p)",
              {u8("x", {2, 4, 7, 8}), u8("w", {6, 2, 2, 3}), given("zx", DType::u8, {}, {100}),
               given("zw", DType::u8, {6}, {1, 20, 100, 128, 200, 255})}),
    quantized("ConvInteger same upper",
              "p = ConvInteger<auto_pad = \"SAME_UPPER\">(x, w, zx)\n  y = Cast<to = 1>(p)",
              {u8("x", {1, 1, 5}), i8("w", {1, 1, 2}), given("zx", DType::u8, {}, {100})}),
    quantized(
        "QLinearMatMul", "q = QLinearMatMul(a, sa, za, b, sb, zb, s, z)\n  y = Cast<to = 1>(q)",
        {u8("a", {2, 3}), given("sa", DType::f32, {}, {0.011}), given("za", DType::u8, {}, {113}),
         u8("b", {3, 4}), given("sb", DType::f32, {}, {0.012}), given("zb", DType::u8, {}, {114}),
         given("s", DType::f32, {}, {0.03}), given("z", DType::u8, {}, {118})}),
    quantized("QLinearMatMul by rows and columns",
              "q = QLinearMatMul(a, sa, za, b, sb, zb, s, z)\n  y = Cast<to = 1>(q)",
              {i8("a", {2, 3}), given("sa", DType::f32, {2}, {0.011, 0.02}),
               given("za", DType::i8, {2}, {13, -5}), u8("b", {3, 4}),
               given("sb", DType::f32, {4}, {0.012, 0.01, 0.02, 0.03}),
               given("zb", DType::u8, {4}, {114, 0, 255, 10}), given("s", DType::f32, {}, {0.05}),
               given("z", DType::i8, {}, {-7})}),
    quantized("QLinearConv", "q = QLinearConv(x, sx, zx, w, sw, zw, s, z)\n  y = Cast<to = 1>(q)",
              {u8("x", {1, 2, 4, 4}), given("sx", DType::f32, {}, {0.01}),
               given("zx", DType::u8, {}, {100}), i8("w", {3, 2, 2, 2}),
               given("sw", DType::f32, {}, {0.02}), given("zw", DType::i8, {}, {5}),
               given("s", DType::f32, {}, {0.05}), given("z", DType::u8, {}, {128})}),
    quantized("QLinearConv with all that there is",
              "q = QLinearConv<group = 2, dilations = [2, 1], kernel_shape = [2, 3],"
              " pads = [1, 0, 2, 1], strides = [2, 3]>(x, sx, zx, w, sw, zw, s, z, b)\n"
              "  y = Cast<to = 1>(q)",
              {u8("x", {2, 4, 7, 8}), given("sx", DType::f32, {}, {0.01}),
               given("zx", DType::u8, {}, {100}), u8("w", {6, 2, 2, 3}),
               given("sw", DType::f32, {6}, {0.02, 0.01, 0.03, 0.015, 0.025, 0.035}),
               given("zw", DType::u8, {6}, {1, 20, 100, 128, 200, 255}),
               given("s", DType::f32, {}, {0.5}), given("z", DType::u8, {}, {128}),
               given("b", DType::i32, {6}, {0, 1000, -1000, 7, 70000, -5})}),
    quantized("QLinearConv same lower",
              "q = QLinearConv<auto_pad = \"SAME_LOWER\">(x, sx, zx, w, sw, zw, s, z)\n"
              "  y = Cast<to = 1>(q)",
              {u8("x", {1, 1, 4, 5}), given("sx", DType::f32, {}, {0.01}),
               given("zx", DType::u8, {}, {100}), i8("w", {1, 1, 2, 2}),
               given("sw", DType::f32, {1}, {0.02}), given("zw", DType::i8, {1}, {5}),
               given("s", DType::f32, {}, {0.05}), given("z", DType::u8, {}, {128})}),
    quantized("QuantizeLinear of scales that do not fit",
              "q = QuantizeLinear(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {2, 3}), given("s", DType::f32, {2}, {1, 2})})
        .refused("it has 2 elements for 3 places along the axis"),
    quantized("QuantizeLinear to what is not quantized",
              "q = QuantizeLinear<output_dtype = 6>(x, s)\n  y = Cast<to = 1>(q)",
              {f32("x", {2, 3}), given("s", DType::f32, {}, {1})})
        .refused("i32 is no type of quantized elements"),
};

}  // namespace

std::span<const Case> quantization_cases() { return kCases; }

}  // namespace onward
