"""PyTorch's losses as onward.prepare takes them."""

import inspect

import onnx
from torch import nn

import onward
from onward import _core
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
        if op == "SoftmaxCrossEntropyLoss" and loss.weight is None:
            return {**_by_name(loss), "ignore_index": loss.ignore_index}
        input_, initializer = _class_weights(loss.weight)
        return reader.loss("int64", reader.dims[:1] + reader.dims[2:],
                           f'loss = {op}<ignore_index = {loss.ignore_index}, reduction = "{loss.reduction}">'
                           f"({reader.name}, {reader.label}{input_})", initializer)
    return classes


def _by_name(loss):
    return {"loss": NAMES[type(loss)], "reduction": loss.reduction}


def _plain(loss, _):
    """A loss of the table, which has no setting but its reduction."""
    for name in inspect.signature(type(loss)).parameters:
        # The first two are old words for the third.
        if name not in ("size_average", "reduce", "reduction") and getattr(loss, name, None) is not None:
            raise onward.Error(f"{type(loss).__name__} with {name} can't be exported: make it without")
    return _by_name(loss)


# The table is src/recipe/loss_table.cpp.
NAMES = {getattr(nn, row["torch"][0]): row["name"] for row in _core._loss_table()}
LOSSES = dict.fromkeys(NAMES, _plain) | {nn.CrossEntropyLoss: _classes("SoftmaxCrossEntropyLoss"),
                                         nn.NLLLoss: _classes("NegativeLogLikelihoodLoss")}


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
