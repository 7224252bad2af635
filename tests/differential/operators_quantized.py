"""Nodes that quantize, and products of quantized tensors. Their gradients are estimates, which differences do not show."""

import values
from graph import Unsuitable
from operators_layer import window

EIGHT_BITS = ("int8", "uint8")


def scales(g, shape=()):
    """Positive numbers: what others mean is not said."""
    return g.leaf(values.draw(g.numbers, "float", shape, 0.05, 0.5))


def scale_and_zero(g, kind, shape=()):
    """A scale, and a zero point of that type."""
    return scales(g, shape), g.new(kind, shape, -20.0, 20.0)


def refuse_special(g, op):
    """What becomes of NaN is not said."""
    if g.special:
        raise Unsuitable(op)


def granularity(g, op, x):
    """The shape of scales, and the attributes that go with it."""
    form = g.one_of("tensor", "axis", "block")
    if form == "tensor" or (form == "axis" and g.opset < 13) or (form == "block" and g.opset < 21):
        return (), {}
    axis = g.one_of(*range(-x.rank, x.rank))
    if form == "axis":
        return (x.shape[axis],), {"axis": axis}
    block = g.between(1, max(1, x.shape[axis]))
    shape = list(x.shape)
    shape[axis] = -(-shape[axis] // block)
    return tuple(shape), {"axis": axis, "block_size": block}


def quantize_linear(g):
    refuse_special(g, "QuantizeLinear")
    x = g.operand("QuantizeLinear", type="float", rank=range(2, 5), smallest=1)
    kind = g.one_of("int8", "uint8", *(("int16", "uint16") if g.opset >= 21 else ()))
    shape, attributes = granularity(g, "QuantizeLinear", x)
    scale, zero = scale_and_zero(g, kind, shape)
    if g.maybe(0.2):
        zero, kind = None, "uint8"
    g.add("QuantizeLinear", [x, scale, zero], [(kind, x.shape)], **attributes)


def dequantize_linear(g):
    kind = g.one_of("int8", "uint8", *(("int16", "uint16") if g.opset >= 21 else ()))
    x = g.operand("DequantizeLinear", type=kind, rank=range(2, 5), smallest=1)
    shape, attributes = granularity(g, "DequantizeLinear", x)
    scale, zero = scale_and_zero(g, kind, shape)
    g.add("DequantizeLinear", [x, scale, zero if g.maybe(0.8) else None], [("float", x.shape)], **attributes)


def dynamic_quantize_linear(g):
    refuse_special(g, "DynamicQuantizeLinear")
    x = g.operand("DynamicQuantizeLinear", type="float", rank=range(1, 5), smallest=1)
    g.add("DynamicQuantizeLinear", [x], [("uint8", x.shape), ("float", ()), ("uint8", ())])


def matrices(g, op):
    a = g.operand(op, 0, g.one_of(*EIGHT_BITS), rank=range(2, 4), smallest=1)
    columns = g.dim(1)
    b = g.operand(op, 3 if op == "QLinearMatMul" else 1, g.one_of(*EIGHT_BITS), shape=(a.shape[-1], columns))
    return a, b, (*a.shape[:-1], columns)


def matmul_integer(g):
    a, b, shape = matrices(g, "MatMulInteger")
    zeros = [None, None]
    if g.maybe(0.7):
        zeros = [g.new(a.type, (), -9.0, 9.0), g.new(b.type, g.one_of((), b.shape[-1:]), -9.0, 9.0)]
    g.add("MatMulInteger", [a, b, *zeros], [("int32", shape)])


def qlinear_matmul(g):
    a, b, shape = matrices(g, "QLinearMatMul")
    kind = g.one_of(*EIGHT_BITS)
    inputs = [a, *scale_and_zero(g, a.type), b, *scale_and_zero(g, b.type), *scale_and_zero(g, kind)]
    g.add("QLinearMatMul", inputs, [(kind, shape)])


def images(g, op):
    x = g.operand(op, 0, "uint8", rank=range(3, 5), smallest=1)
    channels = x.shape[1]
    group = g.one_of(*[d for d in (1, 1, 2, channels) if channels % d == 0])
    outputs = group * g.one_of(1, 2, 3)
    kernel, attributes, spatial = window(g, op, x.shape[2:], True)
    attributes |= {"group": group, "kernel_shape": kernel if g.maybe(0.5) else None}
    return x, (outputs, channels // group, *kernel), (x.shape[0], outputs, *spatial), attributes


def conv_integer(g):
    x, weights, shape, attributes = images(g, "ConvInteger")
    w = g.new(g.one_of(*EIGHT_BITS), weights)
    zeros = [g.new("uint8", (), 0.0, 9.0), g.new(w.type, (), -9.0, 9.0)] if g.maybe(0.7) else [None, None]
    g.add("ConvInteger", [x, w, *zeros], [("int32", shape)], **attributes)


def qlinear_conv(g):
    x, weights, shape, attributes = images(g, "QLinearConv")
    w = g.new(g.one_of(*EIGHT_BITS), weights)
    each = g.one_of((), weights[:1])
    inputs = [x, *scale_and_zero(g, x.type), w, scales(g, each), g.new(w.type, each, 0.0, 0.0),
              *scale_and_zero(g, "uint8")]
    bias = g.leaf(g.numbers.integers(-50, 50, weights[:1]).astype(values.NUMPY["int32"])) if g.maybe(0.5) else None
    g.add("QLinearConv", [*inputs, bias], [("uint8", shape)], **attributes)


OPERATORS = {
    "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize_linear,
}
