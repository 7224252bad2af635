"""Nodes of elementwise operators, each by a function that adds one to a graph."""

import numpy as np
import values
from covered import covered_operators, is_unary_function
from graph import Unsuitable, types_of
from onnx import numpy_helper

NEEDS_POSITIVE = {"Log", "Sqrt", "Reciprocal"}


def unary(op, **attributes):
    def add(g):
        x = g.operand(op)
        if op in NEEDS_POSITIVE and (g.smooth or g.maybe(0.7)) and x.type in values.FLOATS:
            x = g.positive(x)
        if op == "Exp" and g.smooth:
            x = g.add("Tanh", [x], [(x.type, x.shape)])[0]
        chosen = {name: choose(g) for name, choose in attributes.items()}
        g.add(op, [x], [(x.type, x.shape)], **chosen)

    return add


def old_broadcast(g, op, x):
    """Up to opset 6 the second operand is a part of the first one's shape, in its middle where `axis` says."""
    start = g.between(0, x.rank)
    stop = g.between(start, x.rank)
    shape = x.shape[start:stop]
    if shape == x.shape:
        return g.operand(op, 1, x.type, shape=shape), {}
    axis = None if stop == x.rank and g.maybe(0.5) else start
    return g.new(x.type, shape, 0.5 if op in ("Div", "Pow") else -3.0), {"broadcast": 1, "axis": axis}


def second_operand(g, op, x, type=None, low=-3.0, high=3.0):
    """A value that broadcasts with x, and the shape of the result."""
    type = type or x.type
    if g.maybe(0.3) and low < 0:
        there = [y for y in g.values if y.type == type and y.shape is not None and broadcast(x.shape, y.shape)]
        if there:
            y = g.choices.choice(there)
            return y, broadcast(x.shape, y.shape)
    shape = g.broadcast_to(x.shape)
    if g.maybe(0.15) and 1 in x.shape:  # the first one is broadcast as well
        shape = tuple(g.between(1, 4) if dim == 1 else dim for dim in x.shape)
    if g.maybe(0.1) and len(x.shape) < 5:
        shape = (g.between(1, 3), *x.shape)
    return g.new(type, shape, low, high), broadcast(x.shape, shape)


def broadcast(*shapes):
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return shape


def binary(op, result=None):
    def add(g):
        x = g.operand(op)
        low = -3.0
        if op == "Div" and (g.smooth or g.maybe(0.5) or (x.type in values.INTEGERS and not g.special)):
            low = 1.0
        if g.opset < 7:
            y, attributes = old_broadcast(g, op, x)
            g.add(op, [x, y], [(result or x.type, x.shape)], **attributes)
            return
        y, shape = second_operand(g, op, x, low=low)
        if shape is None:
            raise Unsuitable(op)
        pair = [x, y] if low > 0 or g.maybe(0.6) else [y, x]
        g.add(op, pair, [(result or x.type, shape)])

    return add


def power(g):
    x = g.operand("Pow")
    if x.type in values.FLOATS and (g.smooth or g.maybe(0.5)):
        x = g.positive(x)
    if g.opset < 7:
        g.add("Pow", [x, g.new(x.type, x.shape, 0, 3)], [(x.type, x.shape)])
        return
    other = g.type_for("Pow", 1) if g.opset >= 12 and g.maybe(0.3) else x.type
    if g.opset < 12:
        other = x.type
    y, shape = second_operand(g, "Pow", x, other, 0.0, 3.0)
    if x.type in values.INTEGERS and other in values.FLOATS:
        y, shape = g.leaf(np.asarray(2).astype(values.NUMPY[other])), x.shape
    g.add("Pow", [x, y], [(x.type, shape)])


def variadic(op):
    def add(g):
        x = g.operand(op)
        inputs, shape = [x], x.shape
        for _ in range(g.between(0, 3)):
            if g.opset < 8:
                inputs.append(g.operand(op, 0, x.type, shape=x.shape))
                continue
            y, both = second_operand(g, op, x)
            if both is not None and broadcast(shape, both) is not None:
                inputs.append(y)
                shape = broadcast(shape, both)
        g.choices.shuffle(inputs)
        g.add(op, inputs, [(x.type, shape)])

    return add


def prelu(g):
    x = g.operand("PRelu", rank=range(2, 5) if g.opset < 7 else None)
    shape = g.one_of((1,), (x.shape[1],)) if g.opset < 7 else g.broadcast_to(x.shape)
    g.add("PRelu", [x, g.new(x.type, shape)], [(x.type, x.shape)])


def celu(g):
    x = g.operand("Celu", rank=range(1, 5) if g.smooth else None)  # the standard's function makes a vector of a scalar
    g.add("Celu", [x], [(x.type, x.shape)], alpha=g.one_of(None, 0.5, 2.0))


def is_inf(g):
    x = g.operand("IsInf", among=values.FLOATS)
    g.add("IsInf", [x], [("bool", x.shape)], detect_negative=g.one_of(None, 0, 1), detect_positive=g.one_of(None, 0, 1))


def is_nan(g):
    x = g.operand("IsNaN", among=values.FLOATS)
    g.add("IsNaN", [x], [("bool", x.shape)])


def swiglu(g):
    a = g.operand("SwiGLU")
    b = g.operand("SwiGLU", 1, a.type, shape=a.shape)
    g.add("SwiGLU", [a, b], [(a.type, a.shape)], alpha=g.one_of(None, 1.0, 1.5, -0.5))


def modulo(g):
    x = g.operand("Mod")
    is_float = x.type in values.FLOATS
    fmod = 1 if is_float and g.opset < 28 else g.one_of(None, 0) if not is_float and g.opset < 28 else g.one_of(None, 0, 1)
    shape = g.broadcast_to(x.shape)
    sizes = values.draw(g.numbers, x.type, shape, 1.0)  # of divisors, which are not 0
    signs = g.numbers.choice([-1, 1], shape) if x.type not in values.UNSIGNED else np.ones(shape)
    y = g.leaf((sizes * signs.astype(sizes.dtype)).astype(sizes.dtype))
    g.add("Mod", [x, y], [(x.type, x.shape)], fmod=fmod)


def bit_cast(g):
    """Between integers: of the bits of others, floats may be any."""
    if g.opset < 26:
        raise Unsuitable("BitCast")
    width, sign = g.one_of("8", "16", "32", "64"), g.one_of(("int", "uint"), ("uint", "int"))
    x = g.operand("BitCast", type=sign[0] + width)
    to = sign[1] + width
    g.add("BitCast", [x], [(to, x.shape)], to=values.ONNX[to])


def bit_shift(g):
    x = g.operand("BitShift")
    y, shape = second_operand(g, "BitShift", x, low=0.0, high=9.0)
    g.add("BitShift", [x, y], [(x.type, shape)], direction=g.one_of("LEFT", "RIGHT"))


def bounded(op, low, high):
    """A function that has results between two numbers."""
    def add(g):
        x = g.operand(op)
        if g.smooth or g.maybe(0.7):
            x = g.new(x.type, x.shape, low, high)
        g.add(op, [x], [(x.type, x.shape)])

    return add


def where(g):
    x = g.operand("Where", 1)
    condition = g.operand("Where", 0, "bool", shape=x.shape) if g.maybe(0.4) else g.new("bool", g.broadcast_to(x.shape))
    y, shape = second_operand(g, "Where", x)
    shape = shape and broadcast(shape, condition.shape)
    if shape is None:
        raise Unsuitable("Where")
    g.add("Where", [condition, x, y], [(x.type, shape)])


def clip(g):
    x = g.operand("Clip")
    low, high = g.one_of((-1, 2), (0, 6), (-0.5, 0.25), (1, 1), (2, 1) if not g.smooth and g.opset >= 11 else (0, 1))
    if g.opset < 11:
        g.add("Clip", [x], [(x.type, x.shape)], min=g.one_of(None, float(low)), max=g.one_of(None, float(high)))
        return
    if x.type in values.UNSIGNED:
        low, high = abs(low), abs(high)
    limits = [g.number(limit, x.type) if g.maybe(0.8) else None for limit in (low, high)]
    g.add("Clip", [x, *limits], [(x.type, x.shape)])


def cast_target(g, source):
    if g.smooth and source in values.FLOATS:
        return g.one_of(g.smooth, g.smooth, "int64", "bool")
    targets = sorted(types_of("Cast", g.opset, 0))
    if g.smooth:
        targets = [name for name in targets if name not in values.FLOATS or name == g.smooth]
    return g.choices.choices(targets, [values.WEIGHTS[name] for name in targets])[0]


def cast(g):
    x = g.operand("Cast")
    to = cast_target(g, x.type)
    g.add("Cast", [x], [(to, x.shape)], to=values.ONNX[to], saturate=g.one_of(None, 0, 1) if g.opset >= 19 else None)


def cast_like(g):
    x = g.operand("CastLike")
    like = g.operand("CastLike", 1, cast_target(g, x.type))
    g.add("CastLike", [x, like], [(like.type, x.shape)])


def dropout(g):
    """In inference: random masks are each runtime's own."""
    x = g.operand("Dropout")
    outputs = [(x.type, x.shape)]
    if g.opset >= 12 and g.maybe(0.3):  # before, nobody says what the mask is in inference
        outputs.append(("bool", x.shape))
    if g.opset < 12:
        attributes = {"ratio": g.one_of(None, 0.25)} | ({"is_test": 1} if g.opset < 7 else {})
        g.add("Dropout", [x], outputs, **attributes)
        return
    ratio = g.number(0.3, g.smooth or "float") if g.maybe(0.5) else None
    training = g.number(False, "bool") if g.maybe(0.3) else None
    if training is None and ratio is None and g.maybe(0.5):
        ratio = g.number(0.0, g.smooth or "float")
    if g.maybe(0.2):  # one that drops nothing
        ratio, training = g.number(0.0, g.smooth or "float"), g.number(True, "bool")
    g.add("Dropout", [x, ratio, training], outputs, seed=g.one_of(None, 7))


def constant(g):
    """All ways to say one; the tensors of leaves are constants too."""
    form = g.one_of("value", "value_float", "value_int", "value_floats", "value_ints") if g.opset >= 12 else "value"
    if form == "value":
        type = g.smooth or g.one_of("float", "double", *(["int32", "bool", "uint8"] if g.opset >= 9 else []))
        array = values.draw(g.numbers, type, g.shape())
        g.add("Constant", [], [(type, array.shape)], value=numpy_helper.from_array(array))
    elif g.smooth and g.smooth != "float" and "float" in form:
        raise Unsuitable("Constant")
    elif form == "value_float":
        g.add("Constant", [], [("float", ())], value_float=0.75)
    elif form == "value_int":
        g.add("Constant", [], [("int64", ())], value_int=g.between(-3, 3))
    elif form == "value_floats":
        g.add("Constant", [], [("float", (3,))], value_floats=[0.5, -1.25, 2.0])
    else:
        g.add("Constant", [], [("int64", (2,))], value_ints=[g.between(-3, 3), 4])


# Functions of one operand without attributes need no row.
OPERATORS = {op: unary(op) for op in covered_operators() if is_unary_function(op)} | {
    "Add": binary("Add"),
    "And": binary("And", "bool"),
    "Cast": cast,
    "CastLike": cast_like,
    "Clip": clip,
    "Constant": constant,
    "Div": binary("Div"),
    "Dropout": dropout,
    "Equal": binary("Equal", "bool"),
    "Gelu": unary("Gelu", approximate=lambda g: g.one_of(None, "none", "tanh")),
    "Greater": binary("Greater", "bool"),
    "LeakyRelu": unary("LeakyRelu", alpha=lambda g: g.one_of(None, 0.1, 0.0, 1.5, -0.5)),
    "Less": binary("Less", "bool"),
    "Max": variadic("Max"),
    "Min": variadic("Min"),
    "Mul": binary("Mul"),
    "Or": binary("Or", "bool"),
    "Pow": power,
    "Sub": binary("Sub"),
    "Sum": variadic("Sum"),
    "Where": where,
    "Celu": celu,
    "Elu": unary("Elu", alpha=lambda g: g.one_of(None, 0.5, 2.0, -1.0)),
    "GreaterOrEqual": binary("GreaterOrEqual", "bool"),
    "HardSigmoid": unary("HardSigmoid", alpha=lambda g: g.one_of(None, 0.5, -0.25), beta=lambda g: g.one_of(None, 0.25, 0.6)),
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "LessOrEqual": binary("LessOrEqual", "bool"),
    "Mean": variadic("Mean"),
    "PRelu": prelu,
    "Selu": unary("Selu", alpha=lambda g: g.one_of(None, 0.5), gamma=lambda g: g.one_of(None, 1.5)),
    "Shrink": unary("Shrink", bias=lambda g: g.one_of(None, 0.5, 1.0), lambd=lambda g: g.one_of(None, 1.0, 0.25)),
    "SwiGLU": swiglu,
    "Swish": unary("Swish", alpha=lambda g: g.one_of(None, 1.0, 1.5, -0.5)),
    "ThresholdedRelu": unary("ThresholdedRelu", alpha=lambda g: g.one_of(None, 0.5, -1.0, 2.0)),
    "Xor": binary("Xor", "bool"),
    "Acos": bounded("Acos", -0.9, 0.9),
    "Acosh": bounded("Acosh", 1.25, 3.0),
    "Asin": bounded("Asin", -0.9, 0.9),
    "Atanh": bounded("Atanh", -0.9, 0.9),
    "Tan": bounded("Tan", -1.25, 1.25),
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "BitwiseAnd": binary("BitwiseAnd"),
    "BitwiseOr": binary("BitwiseOr"),
    "BitwiseXor": binary("BitwiseXor"),
    "Mod": modulo,
}
