"""PyTorch's losses as onward.prepare takes them."""

import onnx
from torch import nn

import onward
from onward._importing import loss_model

OUTPUT = "output"  # what the exported module gives


def _loss_text(proto, label, nodes, initializers=""):
    """A loss as a graph of its own: from the module's output and the label to `loss`."""
    dtype = {onnx.TensorProto.FLOAT: "float32", onnx.TensorProto.DOUBLE: "float64"}.get(_output(proto).elem_type)
    if not dtype:
        raise onward.Error("the module's output must be of float32 or float64 for this loss")
    opset = next(each.version for each in proto.opset_import if each.domain == "")
    return loss_model(dtype, f"{{dtype}}[] {OUTPUT}, {label}[] label", nodes, initializers, opset, proto.ir_version)


def _output(proto):
    return proto.graph.output[0].type.tensor_type


def _last_operator(proto):
    return next((node.op_type for node in proto.graph.node if OUTPUT in node.output), "")


def _class_weights(weight):
    if weight is None:
        return "", ""
    values = ", ".join(repr(float(value)) for value in weight)
    return ", weight", f"{{dtype}}[{len(weight)}] weight = {{{{{values}}}}}"


def _classes(op):
    def classes(loss, proto):
        if getattr(loss, "label_smoothing", 0):
            raise onward.Error(f"{type(loss).__name__} with label_smoothing={loss.label_smoothing} can't be exported")
        plain = loss.weight is None and loss.ignore_index == -100 and loss.reduction == "mean"
        # `prepare` takes a final Softmax for a part of the loss, which PyTorch would apply twice.
        if op == "SoftmaxCrossEntropyLoss" and plain and _last_operator(proto) != "Softmax":
            return "softmax_cross_entropy"
        input_, initializer = _class_weights(loss.weight)
        return _loss_text(proto, "int64", f'loss = {op}<ignore_index = {loss.ignore_index}, reduction = '
                                          f'"{loss.reduction}">({OUTPUT}, label{input_})', initializer)
    return classes


def _squared_error(loss, proto):
    if loss.reduction == "mean":
        return "mse"
    return _loss_text(proto, "{dtype}", f"difference = Sub({OUTPUT}, label)  squares = Mul(difference, difference)  "
                                        "loss = ReduceSum<keepdims = 0>(squares)")


def _binary(loss, proto):
    for name in ("weight", "pos_weight"):
        if getattr(loss, name) is not None:
            raise onward.Error(f"BCEWithLogitsLoss with {name} can't be exported")
    if loss.reduction == "mean" and _last_operator(proto) != "Sigmoid":
        return "bce_with_logits"
    reduce = "ReduceMean" if loss.reduction == "mean" else "ReduceSum"
    # max(x, 0) - x z + log(1 + exp(-|x|)), which no large x overflows
    return _loss_text(proto, "{dtype}", f"size = Abs({OUTPUT})  minus = Neg(size)  tail = Softplus(minus)  "
                                        f"positive = Relu({OUTPUT})  product = Mul({OUTPUT}, label)  "
                                        "rest = Sub(positive, product)  losses = Add(rest, tail)  "
                                        f"loss = {reduce}<keepdims = 0>(losses)")


LOSSES = {nn.CrossEntropyLoss: _classes("SoftmaxCrossEntropyLoss"), nn.NLLLoss: _classes("NegativeLogLikelihoodLoss"),
          nn.MSELoss: _squared_error, nn.BCEWithLogitsLoss: _binary}


def loss_of(loss, proto):
    """What onward.prepare is told of the loss: its name, or its graph."""
    if type(loss) not in LOSSES:
        names = ", ".join(sorted(each.__name__ for each in LOSSES))
        what = type(loss).__name__ if isinstance(loss, nn.Module) else repr(loss)
        raise onward.Error(f"the loss {what} can't be exported: it may be an object of {names}")
    if loss.reduction not in ("mean", "sum"):
        raise onward.Error(f"{type(loss).__name__} with reduction='{loss.reduction}' is no single number to train by")
    return LOSSES[type(loss)](loss, proto)
