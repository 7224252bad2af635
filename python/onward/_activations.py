"""Functions of one tensor that are one operator of ONNX, and what frameworks call them: a new activation is a row.

Both importers take them from here. What a framework computes by several operators, or differentiates otherwise where
a function bends, is in its own files.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Activation:
    op: str  # of ONNX
    torch: str = ""  # the function: in torch.ops.aten, and in torch.nn.functional or torch
    module: str = ""  # torch.nn
    keras: str = ""  # the function in keras.activations
    layer: str = ""  # keras.layers
    operation: str = ""  # what a function of keras.ops makes: a class of keras.src.ops
    settings: tuple = ()  # pairs: what Keras calls an attribute, and ONNX's name of it
    kinks: tuple = ()  # where its derivative jumps


ACTIVATIONS = (
    Activation("Abs", torch="abs", operation="numpy.Absolute", kinks=(0,)),
    Activation("Acos", torch="acos", operation="numpy.Arccos"),
    Activation("Acosh", torch="acosh", operation="numpy.Arccosh"),
    Activation("Asin", torch="asin", operation="numpy.Arcsin"),
    Activation("Asinh", torch="asinh", operation="numpy.Arcsinh"),
    Activation("Atan", torch="atan", operation="numpy.Arctan"),
    Activation("Atanh", torch="atanh", operation="numpy.Arctanh"),
    Activation("Cos", torch="cos", operation="numpy.Cos"),
    Activation("Cosh", torch="cosh", operation="numpy.Cosh"),
    # Keras's own takes its alpha in the precision of the tensors.
    Activation("Elu", torch="elu", module="ELU", kinks=(0,)),
    Activation("Erf", torch="erf", operation="math.Erf"),
    Activation("Exp", torch="exp", keras="exponential", operation="numpy.Exp"),
    Activation("Gelu", torch="gelu", module="GELU"),
    Activation("HardSwish", torch="hardswish", module="Hardswish", keras="hard_silu", operation="nn.HardSilu", kinks=(-3, 3)),
    Activation("LeakyRelu", torch="leaky_relu", module="LeakyReLU", keras="leaky_relu", layer="LeakyReLU",
               operation="nn.LeakyRelu", settings=(("negative_slope", "alpha"),), kinks=(0,)),
    Activation("Log", torch="log", operation="numpy.Log"),
    Activation("Mish", torch="mish", module="Mish", keras="mish"),
    Activation("Neg", torch="neg", operation="numpy.Negative"),
    Activation("Reciprocal", torch="reciprocal", operation="numpy.Reciprocal"),
    Activation("Relu", torch="relu", module="ReLU", keras="relu", operation="nn.Relu", kinks=(0,)),
    Activation("Sigmoid", torch="sigmoid", module="Sigmoid", keras="sigmoid", operation="nn.Sigmoid"),
    Activation("Sin", torch="sin", operation="numpy.Sin"),
    Activation("Sinh", torch="sinh", operation="numpy.Sinh"),
    # PyTorch's own is the operand above a threshold.
    Activation("Softplus", keras="softplus", operation="nn.Softplus"),
    Activation("Softsign", module="Softsign", keras="softsign", operation="nn.Softsign"),
    Activation("Sqrt", torch="sqrt", operation="numpy.Sqrt"),
    Activation("Tan", torch="tan", operation="numpy.Tan"),
    Activation("Tanh", torch="tanh", module="Tanh", keras="tanh", operation="numpy.Tanh"),
)
