"""PyTorch's losses as onward.prepare takes them."""

import onnx
from torch import nn

import onward
from onward._importing import loss_model
from onward._torch_graph import fresh_name, names_in


class _Reader:
    """The exported module, as a loss's own graph reads it."""

    def __init__(self, proto):
        output = proto.graph.output[0]
        tensor = output.type.tensor_type
        self.name = output.name
        self.label = fresh_name("label", names_in(proto.graph))
        self.dtype = {onnx.TensorProto.FLOAT: "float32", onnx.TensorProto.DOUBLE: "float64"}.get(tensor.elem_type)
        self.dims = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
        self.opset = next(each.version for each in proto.opset_import if each.domain == "")
        self.ir_version = proto.ir_version

    def loss(self, label_type, label_dims, nodes, initializers=""):
        """A loss as a graph of its own: from the module's output and the label to `loss`."""
        if not self.dtype:
            raise onward.Error("the module's output must be of float32 or float64 for this loss")
        shape = lambda dims: "[" + ",".join(map(str, dims)) + "]" if dims else ""
        inputs = f"{{dtype}}{shape(self.dims)} {self.name}, {label_type}{shape(label_dims)} {self.label}"
        return {"loss": loss_model(self.dtype, inputs, nodes, initializers, self.opset, self.ir_version)}


def _class_weights(weight):
    if weight is None:
        return "", ""
    values = ", ".join(repr(float(value)) for value in weight)
    return ", weight", f"{{dtype}}[{len(weight)}] weight = {{{{{values}}}}}"


def _classes(op):
    def classes(loss, reader):
        if getattr(loss, "label_smoothing", 0):
            raise onward.Error(f"{type(loss).__name__} with label_smoothing={loss.label_smoothing} can't be exported: make "
                               "it without")
        if op == "SoftmaxCrossEntropyLoss" and loss.weight is None and loss.reduction == "mean":
            return {"loss": "softmax_cross_entropy", "ignore_index": loss.ignore_index}
        input_, initializer = _class_weights(loss.weight)
        return reader.loss("int64", reader.dims[:1] + reader.dims[2:],
                           f'loss = {op}<ignore_index = {loss.ignore_index}, reduction = "{loss.reduction}">'
                           f"({reader.name}, {reader.label}{input_})", initializer)
    return classes


def _squared_error(loss, reader):
    if loss.reduction == "mean":
        return {"loss": "mse"}
    return reader.loss("{dtype}", reader.dims, f"difference = Sub({reader.name}, {reader.label})  "
                                               "squares = Mul(difference, difference)  "
                                               "loss = ReduceSum<keepdims = 0>(squares)")


def _binary(loss, reader):
    for name in ("weight", "pos_weight"):
        if getattr(loss, name) is not None:
            raise onward.Error(f"BCEWithLogitsLoss with {name} can't be exported: make it without")
    if loss.reduction == "mean":
        return {"loss": "bce_with_logits"}
    # max(x, 0) - x z + log(1 + exp(-|x|)), which no large x overflows; by (x + |x|) / 2 the slope at 0 is 1/2 - z
    return reader.loss("{dtype}", reader.dims, f"size = Abs({reader.name})  minus = Neg(size)  tail = Softplus(minus)  "
                                               f"both = Add({reader.name}, size)  positive = Mul(both, half)  "
                                               f"product = Mul({reader.name}, {reader.label})  "
                                               "rest = Sub(positive, product)  losses = Add(rest, tail)  "
                                               "loss = ReduceSum<keepdims = 0>(losses)", "{dtype} half = {{0.5}}")


LOSSES = {nn.CrossEntropyLoss: _classes("SoftmaxCrossEntropyLoss"), nn.NLLLoss: _classes("NegativeLogLikelihoodLoss"),
          nn.MSELoss: _squared_error, nn.BCEWithLogitsLoss: _binary}


def loss_of(loss, proto):
    """What onward.prepare is told of the loss: its name, or its graph. It reads the output, whatever computes that."""
    if type(loss) not in LOSSES:
        names = ", ".join(sorted(each.__name__ for each in LOSSES))
        what = type(loss).__name__ if isinstance(loss, nn.Module) else repr(loss)
        raise onward.Error(f"the loss {what} can't be exported: it may be an object of {names}")
    if loss.reduction not in ("mean", "sum"):
        raise onward.Error(f"{type(loss).__name__} with reduction='{loss.reduction}' is no single number to train by: use "
                           "'mean' or 'sum'")
    return {"loss_reads": "output", **LOSSES[type(loss)](loss, _Reader(proto))}
