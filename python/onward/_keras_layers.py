"""How each layer of Keras is said in ONNX: one function a kind, in the table at the end.

A function gets the graph, a Call (layer, settings, inputs, shape and name of the result), and gives a Tensor.
"""

import keras
import numpy

import onward
from onward._activations import ACTIVATIONS
from onward._importing import warn_if_rounded
from onward._keras_activations import activate, at_most, elu, relu6, softmax
from onward._keras_graph import Tensor
from onward._keras_recurrent import RECURRENT
from onward._keras_shapes import (
    average,
    concatenate,
    cropping,
    extreme,
    flatten,
    merge,
    permute,
    repeat_vector,
    reshape,
    zero_padding,
)

L = keras.layers


class Call:
    """One use of a layer."""

    def __init__(self, layer, settings, inputs, shape, name):
        self.layer, self.settings, self.inputs, self.shape, self.name = layer, settings, inputs, shape, name
        self.is_frozen = not layer.trainable  # a normalization that keeps its statistics

    @property
    def x(self):
        if len(self.inputs) != 1:
            raise onward.Error(f"{self.settings.what} is called with {len(self.inputs)} inputs")
        return self.inputs[0]

    def before(self, what="sum"):
        """The name of a result that the activation is applied to."""
        active = getattr(self.layer, "activation", None) not in (None, keras.activations.linear)
        return f"{self.name}_{what}" if active else self.name


def _activated(g, call, tensor):
    call.settings.told("activation")
    return activate(g, call.layer.activation, tensor, call.name, call.settings)


# ---- layers with weights

def _dense(g, call):
    s, layer = call.settings, call.layer
    s.told("units", "use_bias")
    x, kernel, name = g.plain(call.x), g.parameter(layer.kernel), call.before()
    if layer.use_bias and call.x.rank == 2:
        y = g.node("Gemm", [x, kernel, g.parameter(layer.bias)], name)
    elif layer.use_bias:
        y = g.node("Add", [g.node("MatMul", [x, kernel], f"{name}_product"), g.parameter(layer.bias)], name)
    else:
        y = g.node("MatMul", [x, kernel], name)
    return _activated(g, call, Tensor(call.shape, g.dtype, plain=y))


def _pads(sizes, kernel, strides, dilations):
    """The pads of padding="same", before then after; None where sizes decide that are not known."""
    before, after = [], []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (k - 1) * dilation
        if stride == 1:
            total = reach
        elif size is None:
            return None
        else:
            total = max(0, (-(-size // stride) - 1) * stride + reach + 1 - size)
        before.append(total // 2)
        after.append(total - total // 2)
    return before + after


def window(call, kernel, strides, dilations, padding):
    """The attributes of a convolution or pooling."""
    attributes = {"kernel_shape": list(kernel), "strides": list(strides)}
    if any(dilation != 1 for dilation in dilations):
        attributes["dilations"] = list(dilations)
    if padding == "valid":
        return attributes
    if padding == "causal":
        return attributes | {"pads": [dilations[0] * (kernel[0] - 1), 0]}
    if padding != "same":
        call.settings.refuse("padding", padding)
    shape = call.x.shape
    sizes = shape[1:-1] if call.layer.data_format == "channels_last" else shape[2:]
    pads = _pads(sizes, kernel, strides, dilations)
    return attributes | ({"auto_pad": "SAME_UPPER"} if pads is None else {"pads": pads})


def _window_of(call, size="kernel_size"):
    s = call.settings
    kernel, strides = s[size], s["strides"]
    dilations = s.get("dilation_rate", (1,) * len(kernel))
    s.told("data_format")
    return window(call, kernel, strides, dilations, s["padding"])


def _filters_first(rank):
    """From Keras's order of a kernel, filters last, to ONNX's."""
    return lambda kernel: kernel.transpose(rank + 1, rank, *range(rank))


def _depthwise_first(rank):
    """A depthwise kernel has channels and multiplier at the end; ONNX has them as one dimension of filters."""
    def to_onnx(kernel):
        turned = kernel.transpose(rank, rank + 1, *range(rank))
        return turned.reshape(-1, 1, *turned.shape[2:])
    return to_onnx


def _conv(g, call):
    s, layer = call.settings, call.layer
    s.told("filters", "use_bias")
    attributes = _window_of(call)
    rank = len(layer.kernel_size)
    inputs = [g.image(call.x, layer.data_format), g.parameter(layer.kernel, _filters_first(rank))]
    if layer.use_bias:
        inputs.append(g.parameter(layer.bias))
    y = g.node("Conv", inputs, call.before(), group=s["groups"], **attributes)
    return _activated(g, call, g.from_image(y, call.shape, layer.data_format, g.dtype))


def _conv_transpose(g, call):
    """TensorFlow gives each element of the input a stride of the result, or with valid padding whole windows."""
    s, layer = call.settings, call.layer
    s.told("filters", "use_bias", "data_format")
    kernel, strides, dilations, beyond = s["kernel_size"], s["strides"], s["dilation_rate"], s["output_padding"]
    if beyond is not None:
        s.refuse("output_padding", beyond)
    if any(dilation != 1 for dilation in dilations):
        s.refuse("dilation_rate", dilations)
    attributes = {"kernel_shape": list(kernel), "strides": list(strides)}
    if any(size < stride for size, stride in zip(kernel, strides)):
        attributes["output_padding"] = [max(stride - size, 0) for size, stride in zip(kernel, strides)]
    if s["padding"] == "same":
        total = [max(size - stride, 0) for size, stride in zip(kernel, strides)]
        attributes["pads"] = [each // 2 for each in total] + [each - each // 2 for each in total]
    inputs = [g.image(call.x, layer.data_format), g.parameter(layer.kernel, _filters_first(len(kernel)))]
    if layer.use_bias:
        inputs.append(g.parameter(layer.bias))
    y = g.node("ConvTranspose", inputs, call.before(), **attributes)
    return _activated(g, call, g.from_image(y, call.shape, layer.data_format, g.dtype))


def _depthwise_conv(g, call):
    s, layer = call.settings, call.layer
    s.told("depth_multiplier", "use_bias")
    attributes = _window_of(call)
    rank, channels = len(layer.kernel_size), layer.kernel.shape[-2]
    inputs = [g.image(call.x, layer.data_format), g.parameter(layer.kernel, _depthwise_first(rank))]
    if layer.use_bias:
        inputs.append(g.parameter(layer.bias))
    y = g.node("Conv", inputs, call.before(), group=channels, **attributes)
    return _activated(g, call, g.from_image(y, call.shape, layer.data_format, g.dtype))


def _separable_conv(g, call):
    s, layer = call.settings, call.layer
    s.told("filters", "depth_multiplier", "use_bias")
    attributes = _window_of(call)
    rank, channels = len(layer.kernel_size), layer.depthwise_kernel.shape[-2]
    x = g.node("Conv", [g.image(call.x, layer.data_format),
                        g.parameter(layer.depthwise_kernel, _depthwise_first(rank))], f"{call.name}_depthwise",
               group=channels, **attributes)
    inputs = [x, g.parameter(layer.pointwise_kernel, _filters_first(rank))]
    if layer.use_bias:
        inputs.append(g.parameter(layer.bias))
    y = g.node("Conv", inputs, call.before())
    return _activated(g, call, g.from_image(y, call.shape, layer.data_format, g.dtype))


def _vector(g, call, variable, value, size, what):
    """A variable that a layer may be told to go without."""
    return g.constant(numpy.full(size, value), f"{call.name}_{what}") if variable is None else g.parameter(variable)


def _batch_norm(g, call):
    s, layer = call.settings, call.layer
    axis, epsilon = s["axis"], s["epsilon"]
    s.told("momentum", "center", "scale")
    s.told("renorm_momentum", "renorm_clipping")  # renorm itself must be off
    axis = axis[0] if isinstance(axis, (list, tuple)) else axis
    axis = axis % call.x.rank
    if axis not in (1, call.x.rank - 1):
        s.refuse("axis", axis)
    data_format = "channels_last" if axis == call.x.rank - 1 else "channels_first"
    size = call.x.shape[axis]
    x = g.image(call.x, data_format)
    weights = [_vector(g, call, layer.gamma if layer.scale else None, 1, size, "gamma"),
               _vector(g, call, layer.beta if layer.center else None, 0, size, "beta"),
               g.parameter(layer.moving_mean), g.parameter(layer.moving_variance)]
    warn_if_rounded(epsilon, "epsilon", s.what, g.dtype == "float64", stacklevel=6)
    if not call.is_frozen or g.all_norms_frozen:
        y = g.node("BatchNormalization", [x, *weights], call.name, epsilon=epsilon, momentum=layer.momentum)
    else:
        y = _frozen_batch_norm(g, call, x, weights, epsilon)
    return g.from_image(y, call.shape, data_format, g.dtype)


def _frozen_batch_norm(g, call, x, weights, epsilon):
    """One that stays in inference mode while others are trained, in plain operators, channels first."""
    shape = g.constant([1, -1, *[1] * (call.x.rank - 2)], "over_channels", "int64")
    gamma, beta, mean, variance = (g.node("Reshape", [each, shape], f"{call.name}_{what}") for each, what in
                                   zip(weights, ("scale", "offset", "mean", "variance"), strict=True))
    spread = g.node("Add", [variance, g.constant(numpy.float32(epsilon), f"{call.name}_epsilon")], f"{call.name}_spread")
    centred = g.node("Sub", [x, mean], f"{call.name}_centred")
    normal = g.node("Div", [centred, g.node("Sqrt", [spread], f"{call.name}_deviation")], f"{call.name}_normal")
    return g.node("Add", [g.node("Mul", [normal, gamma], f"{call.name}_scaled"), beta], call.name)


def _layer_norm(g, call):
    s, layer = call.settings, call.layer
    axes, epsilon = s["axis"], s["epsilon"]
    s.told("center", "scale")
    axes = sorted(axis % call.x.rank for axis in ([axes] if isinstance(axes, int) else axes))
    if axes != list(range(call.x.rank - len(axes), call.x.rank)):
        s.refuse("axis", axes)
    size = [call.x.shape[axis] for axis in axes]
    inputs = [g.plain(call.x), _vector(g, call, layer.gamma if layer.scale else None, 1, size, "gamma")]
    if layer.center:
        inputs.append(g.parameter(layer.beta))
    warn_if_rounded(epsilon, "epsilon", s.what, g.dtype == "float64", stacklevel=6)
    y = g.node("LayerNormalization", inputs, call.name, axis=axes[0] - call.x.rank, epsilon=epsilon)
    return Tensor(call.shape, g.dtype, plain=y)


def _embedding(g, call):
    s = call.settings
    s.told("input_dim", "output_dim", "input_length")
    x = g.plain(call.x)
    if call.x.dtype not in ("int32", "int64"):
        x = g.node("Cast", [x], f"{call.name}_indices", to=6)  # int32, as Keras does it
    return Tensor(call.shape, g.dtype, plain=g.node("Gather", [g.parameter(call.layer.embeddings), x], call.name))


def _prelu(g, call):
    call.settings.told("shared_axes")  # told by the variable's shape
    x, name = g.plain(call.x), call.name
    low = g.node("Relu", [g.node("Neg", [x], f"{name}_negated")], f"{name}_negative_part")
    low = g.node("Mul", [low, g.parameter(call.layer.alpha)], f"{name}_low")
    return Tensor(call.shape, g.dtype, plain=g.node("Sub", [g.node("Relu", [x], f"{name}_high"), low], name))


# ---- layers without weights

def _pool(op):
    def pool(g, call):
        if type(call.layer) is L.MaxPooling3D:
            raise onward.Error(f"{call.settings.what} can't be exported: where several elements of a window are the "
                               "largest, TensorFlow gives each of them the gradient")
        data_format = call.layer.data_format
        y = g.node(op, [g.image(call.x, data_format)], call.name, **_window_of(call, "pool_size"))
        return g.from_image(y, call.shape, data_format, g.dtype)
    return pool


def _global_pool(op):
    def pool(g, call):
        data_format, keep = call.settings["data_format"], call.settings["keepdims"]
        axes = g.constant(list(range(2, call.x.rank)), "places", "int64")
        y = g.node(op, [g.image(call.x, data_format), axes], call.name, keepdims=int(keep))
        return g.from_image(y, call.shape, data_format, g.dtype)
    return pool


def _dropout(g, call):
    rate = call.settings["rate"]
    if rate == 0:
        return call.x
    ratio = g.constant(rate, f"{call.name}_rate")
    return g.map([call.x], lambda x: g.node("Dropout", [x, ratio], call.name))


def _activation(g, call):
    call.settings.told("activation")
    return activate(g, call.layer.activation, call.x, call.name, call.settings)


def _softmax(g, call):
    axis = call.settings["axis"]
    axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    if not isinstance(axis, int):
        call.settings.refuse("axis", axis)
    return softmax(g, call.x, axis, call.name)


def _relu(g, call):
    s, name = call.settings, call.name
    top, slope, threshold = s["max_value"], float(s["negative_slope"]), float(s["threshold"])
    if slope and top is None and not threshold:
        return g.map([call.x], lambda x: g.node("LeakyRelu", [x], name, alpha=slope))

    def write(x):
        zero = g.constant(0, "zero")
        limit = g.constant(threshold, f"{name}_threshold") if threshold else zero
        high = f"{name}_high" if slope else name
        clipped = top is not None and (threshold or top != 6)
        kept = f"{name}_kept" if clipped else high
        if threshold:
            y = g.node("Where", [g.node("Greater", [x, limit], f"{name}_is_above_limit"), x, zero], kept)
        else:
            y = relu6(g, x, kept) if top == 6 else g.node("Relu", [x], kept)
        if clipped:
            y = at_most(g, y, g.constant(float(top), f"{name}_top"), high)
        if slope:
            low = g.node("Neg", [x], f"{name}_negated")
            low = g.node("Add", [low, limit], f"{name}_below_limit") if threshold else low
            low = g.node("Relu", [low], f"{name}_negative_part")
            low = g.node("Mul", [low, g.constant(slope, f"{name}_slope")], f"{name}_low")
            y = g.node("Sub", [y, low], name)
        return y

    return g.map([call.x], write)


def _one_operator(row):
    def activation(g, call):
        # TensorFlow has numbers as attributes of float32 too.
        attributes = {attribute: float(call.settings[setting]) for setting, attribute in row.settings}
        return g.map([call.x], lambda x: g.node(row.op, [x], call.name, **attributes))
    return activation


def _elu(g, call):
    alpha = float(call.settings["alpha"])
    return g.map([call.x], lambda x: elu(g, x, call.name, alpha))


def _identity(g, call):
    return call.x


def _rescaling(g, call):
    name = call.name
    # Both numbers pass through float32 on TensorFlow.
    scale, offset = (numpy.asarray(call.settings[key], "float32") for key in ("scale", "offset"))
    x = g.plain(call.x)
    if call.x.dtype != g.dtype:
        x = g.node("Cast", [x], f"{name}_cast", to=11 if g.dtype == "float64" else 1)
    y = g.node("Mul", [x, g.constant(scale, f"{name}_scale")], f"{name}_scaled")
    return Tensor(call.shape, g.dtype, plain=g.node("Add", [y, g.constant(offset, f"{name}_offset")], name))


LAYERS = {
    L.Activation: _activation, L.Add: merge("Add"), L.Average: average, L.BatchNormalization: _batch_norm,
    L.Concatenate: concatenate, L.Dense: _dense, L.Dropout: _dropout, L.ELU: _elu, L.Embedding: _embedding,
    L.Flatten: flatten, L.Identity: _identity, L.LayerNormalization: _layer_norm,
    L.Maximum: extreme("Max"), L.Minimum: extreme("Min"), L.Multiply: merge("Mul"), L.PReLU: _prelu,
    L.Permute: permute, L.ReLU: _relu, L.RepeatVector: repeat_vector, L.Rescaling: _rescaling,
    L.Reshape: reshape, L.Softmax: _softmax, L.Subtract: merge("Sub"),
    **{getattr(L, row.layer): _one_operator(row) for row in ACTIVATIONS if row.layer},
    **RECURRENT,
    **dict.fromkeys([L.Conv1D, L.Conv2D, L.Conv3D], _conv),
    **dict.fromkeys([L.Conv1DTranspose, L.Conv2DTranspose, L.Conv3DTranspose], _conv_transpose),
    **dict.fromkeys([L.DepthwiseConv1D, L.DepthwiseConv2D], _depthwise_conv),
    **dict.fromkeys([L.SeparableConv1D, L.SeparableConv2D], _separable_conv),
    **dict.fromkeys([L.MaxPooling1D, L.MaxPooling2D, L.MaxPooling3D], _pool("MaxPool")),
    **dict.fromkeys([L.AveragePooling1D, L.AveragePooling2D, L.AveragePooling3D], _pool("AveragePool")),
    **dict.fromkeys([L.GlobalMaxPooling1D, L.GlobalMaxPooling2D, L.GlobalMaxPooling3D], _global_pool("ReduceMax")),
    **dict.fromkeys([L.GlobalAveragePooling1D, L.GlobalAveragePooling2D, L.GlobalAveragePooling3D],
                    _global_pool("ReduceMean")),
    **dict.fromkeys([L.ZeroPadding1D, L.ZeroPadding2D, L.ZeroPadding3D], zero_padding),
    **dict.fromkeys([L.Cropping1D, L.Cropping2D, L.Cropping3D], cropping),
}
