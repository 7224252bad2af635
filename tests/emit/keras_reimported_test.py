"""Operator cases that went to Keras come back by `onward.keras.export`, or are refused with the reason."""

import keras
import numpy as np
from keras import ops

import onward
import onward.keras
from emitted import module_of
from reimported import wrong_imports

# What is refused, by the reason.
REFUSED: dict[str, tuple] = {
    "Where 'where": (
        "BitShift", "DynamicQuantizeLinear", "DynamicQuantizeLinear of positive numbers", "QLinearConv",
        "QLinearConv same lower", "QLinearMatMul", "QLinearMatMul by rows and columns", "QuantizeLinear",
        "QuantizeLinear axis", "QuantizeLinear by channels", "QuantizeLinear in blocks", "QuantizeLinear of the default type",
        "QuantizeLinear precision", "QuantizeLinear to 16 bits"),
    "its call does what only tensors with values can": (
        "Col2Im", "Col2Im 1 dimension", "Col2Im 3 dimensions", "Col2Im dilations", "Col2Im of shapes that are inputs",
        "Col2Im pads and strides", "ConstantOfShape", "ConvInteger with all that there is",
        "ConvTranspose with all that there is", "MelWeightMatrix", "MelWeightMatrix of more bands than frequencies",
        "MelWeightMatrix of wide bands", "Multinomial", "QLinearConv with all that there is",
        # Control flow, which Keras follows with tensors that have values, or TensorFlow's own.
        "GRU", "GRU both ways, batch first", "GRU linear before the reset, both ways, batch first",
        "GRU linear before the reset, lengths and a state", "If of data, two results", "LSTM both ways of lengths and states",
        "LSTM both ways, batch first, coupled gates, clipped", "LSTM of bias, lengths, states and peepholes", "LinearAttention",
        "LinearAttention delta", "LinearAttention gated", "LinearAttention gated delta",
        "Loop that carries what has no gradient", "Loop with both, scan outputs, the iteration",
        "RNN both ways, batch first, clipped", "RNN in reverse, of bias, lengths and a state", "RNN of Relu and Softplus",
        "RNN of Softsign", "RNN of activations with kinks", "RNN of leaky activations", "Scan", "Scan axes and directions",
        "Scan in a Scan", "Scan of matrices", "Scan without states"),
    "ForiLoop 'fori_loop": (
        "If in a Loop", "Loop for", "Loop in a Loop", "Loop of matrices", "Loop whose iteration is declared as a vector of one",
        "Loop without a condition, whose body gives one"),
    "WhileLoop 'while_loop": ("Loop whose condition does not hold at first", "Loop with a condition that data ends"),
    "Bidirectional 'bidirectional": ("LSTM both ways of states",),
    "Unstack 'unstack": ("SplitToSequence without the axis",),
    "ScatterUpdate 'scatter_update": (
        "MaxUnpool of one dimension", "MaxUnpool pads", "MaxUnpool to a shape", "ScatterElements", "ScatterElements axis 1",
        "ScatterND", "ScatterND of elements", "TensorScatter", "TensorScatter at places", "TensorScatter axis",
        "TensorScatter in a circle"),
    "Conv 'conv": (
        "ConvInteger", "ConvInteger same upper", "ConvTranspose", "ConvTranspose 3 dimensions",
        "ConvTranspose of a given shape", "ConvTranspose of a given shape beyond its windows",
        "ConvTranspose same lower, a stride beyond the kernel", "ConvTranspose same upper",
        "ConvTranspose zeros beyond a stride"),
    "Mod 'mod": (
        "Mod", "Mod as fmod", "Mod as fmod of a negative divisor", "Mod of a negative divisor", "Mod of integers",
        "Pad reflect", "Pad wrap", "STFT of a step that is an input"),
    "Take 'take": (
        "Compress", "NegativeLogLikelihoodLoss sum", "NegativeLogLikelihoodLoss weights, ignored",
        "NegativeLogLikelihoodLoss weights, none", "SoftmaxCrossEntropyLoss ignored",
        "SoftmaxCrossEntropyLoss of images, ignored and weighted", "SoftmaxCrossEntropyLoss weights",
        "SoftmaxCrossEntropyLoss weights and log_prob"),
    "Cumprod 'cumprod": (
        "CumProd", "CumProd exclusive", "CumProd exclusive in reverse", "CumProd reverse", "CumProd with zeros"),
    "it depends on the sizes of the inputs, or on whether the model is in training": (
        "Bernoulli", "Dropout in training", "Dropout of the default ratio", "RandomNormal", "RandomUniform"),
    "Det 'det": ("Det", "Det of a matrix without an inverse", "Det of many", "Det of one number"),
    "TopK 'top_k": ("TopK", "TopK axis 0", "TopK in any order", "TopK of its indices"),
    "GetItem 'get_item": ("Slice backwards from before the beginning", "Slice steps"),
    "Nonzero 'nonzero": ("Compress axis -2", "Compress axis 1"),
    "Power 'power": ("Pow", "Pow integer exponent"),
    "Scatter 'scatter": ("ScatterElements add", "ScatterND add"),
    "Argsort 'argsort": ("TopK smallest",),
    "BitwiseAnd 'bitwise_and": ("BitwiseAnd",),
    "BitwiseNot 'bitwise_not": ("BitwiseNot",),
    "BitwiseOr 'bitwise_or": ("BitwiseOr",),
    "Cast 'cast": ("DequantizeLinear output_dtype",),
    "Multiply 'multiply": ("HannWindow of float32",),
    "Size 'size": ("Size",),
    "gives <tf.Tensor": ("Loop of no iteration", "RandomNormalLike", "RandomUniformLike", "Scan of nothing"),
}


class WithSomethingToTrain(keras.Model):
    """A case whose results are one row of numbers, times a weight; its first input is added to them."""

    def __init__(self, case):
        super().__init__()
        self.case = case
        self.weight = self.add_weight(shape=(1,), initializer="ones", name="weight")

    def call(self, inputs):
        zero, *given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        results = self.case(given[0] if len(given) == 1 else given) if given else self.case.call()
        results = results if isinstance(results, (list, tuple)) else [results]
        rows = [ops.reshape(ops.cast(each, self.weight.dtype), (1, -1)) for each in results]
        return ops.concatenate(rows, axis=1) * self.weight + zero


def imported(members):
    [member] = members  # which sets the type that all of Keras computes in
    model = WithSomethingToTrain(module_of(member.folder).load())
    feeds = [np.zeros((1, 1), keras.config.floatx()), *member.feeds]
    inputs = [keras.Input(batch_shape=feed.shape, dtype=str(feed.dtype)) for feed in feeds]
    model(inputs if len(inputs) > 1 else inputs[0])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=keras.losses.MeanSquaredError())
    back = onward.keras.export(model)
    results = onward.Trainer(back).infer({each.name: feed for each, feed in zip(back.inputs, feeds, strict=True)})
    return [results["output"].reshape(-1)]


def test_cases_come_back_as_layers(keras_cases):
    assert wrong_imports(keras_cases, REFUSED, imported, together=1) == []
