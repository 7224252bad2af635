"""PyTorch modules, with their loss, optimizer and its state, as ONNX training models.

    model = onward.torch.export(module, torch.nn.CrossEntropyLoss(), optimizer, (images,))

The training goes on where PyTorch left it, by PyTorch's own formulas. Parameters keep the names that
`named_parameters` gives them; tied weights are one tensor. What can't be said exactly is refused by name.
Dropout keeps its ratio, but its random numbers are Onward's own. A module counts as trained in training
mode, whatever mode it is in now; learning rate schedulers and gradient clipping are no part of an
optimizer, and stay behind.
"""

import logging
import warnings

import numpy
import onnx
import torch
from torch import nn

import onward
from onward._torch_graph import (
    name_parameters,
    operations,
    refuse_unknown_operators,
    simplify,
    switch_dropout_off,
)

OUTPUT = "output"


def export(model, loss, optimizer, args, *, batch="N", **options):
    """Gives an onward.Model that trains as `optimizer` trains `model`.

    loss: CrossEntropyLoss, NLLLoss, MSELoss or BCEWithLogitsLoss; a step takes the target as `label`.
    optimizer: SGD, Adam, AdamW or Adagrad; its state, where it has any, comes along.
    args: example inputs, a tuple. Dimension 0 of each is of any size, named `batch`; with None all sizes
    are fixed. options: for torch.onnx.export, such as input_names or dynamic_shapes.
    """
    refuse_modules(model)
    trained = _trained_parameters(model, optimizer)
    settings = optimizer_settings(optimizer)
    proto = _export_forward(model, args, batch, options)
    name_parameters(proto.graph, model)
    simplify(proto.graph)
    refuse_unknown_operators(proto.graph)
    trained = {name: parameter for name, parameter in trained.items() if _has_initializer(proto.graph, name)}
    if not trained:
        raise onward.Error("nothing would be trained: the module's output depends on none of the optimizer's "
                           "parameters that require a gradient")
    prepared = onward.prepare(onward.loads(proto), loss=loss_of(loss, proto), freeze=["*"], train=list(trained), formula="torch",
                              batch_norm="batch", batch_variance="unbiased", **settings)
    return prepared.with_tensors(_optimizer_state(optimizer, trained, prepared))


# ---- the optimizer

def _same_in_all_groups(optimizer):
    """The settings of the parameter groups, which must agree."""
    first, *others = [{key: value for key, value in group.items() if key != "params"}
                      for group in optimizer.param_groups]
    for group in others:
        for key, value in group.items():
            if value != first.get(key):
                raise onward.Error(f"the optimizer's parameter groups differ in {key} ({first.get(key)} and {value}): "
                                   "one training info has one setting for all")
    return {key: value.item() if isinstance(value, torch.Tensor) else value for key, value in first.items()}


def _refuse_settings(kind, settings, *names):
    for name in names:
        if settings.get(name):
            raise onward.Error(f"{kind} with {name}={settings[name]} can't be exported")


def _sgd(settings):
    momentum = settings["momentum"]
    kind = "nesterov" if settings["nesterov"] else "momentum" if momentum else "sgd"
    return {"optimizer": kind, "momentum": momentum, "dampening": settings["dampening"],
            "weight_decay": settings["weight_decay"]}


def _adam(kind):
    def adam(settings):
        decoupled = settings.get("decoupled_weight_decay") or kind == "adamw"
        beta1, beta2 = settings["betas"]
        return {"optimizer": "adamw" if decoupled else "adam", "beta1": float(beta1), "beta2": float(beta2),
                "epsilon": settings["eps"], "weight_decay": settings["weight_decay"]}
    return adam


def _adagrad(settings):
    return {"optimizer": "adagrad", "rate_decay": settings["lr_decay"], "epsilon": settings["eps"],
            "weight_decay": settings["weight_decay"],
            "initial_accumulator": settings["initial_accumulator_value"]}


OPTIMIZERS = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam("adam"), torch.optim.AdamW: _adam("adamw"),
              torch.optim.Adagrad: _adagrad}


def optimizer_settings(optimizer):
    """What onward.prepare is told of the optimizer."""
    kind = type(optimizer)
    if kind not in OPTIMIZERS:
        names = ", ".join(sorted(each.__name__ for each in OPTIMIZERS))
        raise onward.Error(f"the optimizer {kind.__name__} can't be exported: it may be {names}")
    settings = _same_in_all_groups(optimizer)
    _refuse_settings(kind.__name__, settings, "amsgrad", "maximize")
    return {"learning_rate": float(settings["lr"]), **OPTIMIZERS[kind](settings)}


def _trained_parameters(model, optimizer):
    """The parameters that steps change, by name: the optimizer's that require a gradient."""
    given = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    named = {id(parameter): name for name, parameter in model.named_parameters()}
    if given - set(named):
        raise onward.Error(f"the optimizer has {len(given - set(named))} parameters that are none of the module's")
    for name, parameter in model.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise onward.Error(f"parameter '{name}' has hooks, which an ONNX model can't call")
    return {name: parameter for name, parameter in model.named_parameters()
            if id(parameter) in given and parameter.requires_grad}


def _array(tensor):
    return tensor.detach().cpu().contiguous().numpy()


def _optimizer_state(optimizer, trained, prepared):
    """The optimizer's slots and step count, by the names that the prepared model gives them."""
    states = {name: {key: value for key, value in optimizer.state.get(parameter, {}).items() if value is not None}
              for name, parameter in trained.items()}
    begun = [name for name, state in states.items() if state]
    if begun and len(begun) != len(states):
        rest = next(name for name in states if name not in begun)
        raise onward.Error(f"parameter '{begun[0]}' has optimizer state and '{rest}' has none: steps count for all")
    if not begun:
        return {}
    tensors = {f"{name}.{key}": _array(value) for name, state in states.items() for key, value in state.items()
               if key != "step"}
    for name in tensors:
        if name not in prepared.state:
            raise onward.Error(f"the optimizer's state '{name}' has no place in the exported training")
    if "step" in prepared.state:
        # SGD counts none: with dampening only the first step differs, and that one is done.
        counts = {int(state.get("step", 1)) for state in states.values()}
        if len(counts) != 1:
            raise onward.Error(f"parameters have done different numbers of steps: {sorted(counts)}")
        tensors["step"] = numpy.array(counts.pop(), prepared.state["step"].dtype).reshape(prepared.state["step"].shape)
    return tensors


# ---- the loss

def _loss_text(proto, label, nodes, initializers=""):
    """A loss as a graph of its own: from the module's output and the label to `loss`."""
    dtype = {onnx.TensorProto.FLOAT: "float", onnx.TensorProto.DOUBLE: "double"}.get(_output(proto).elem_type)
    if not dtype:
        raise onward.Error("the module's output must be of float32 or float64 for this loss")
    opset = next(each.version for each in proto.opset_import if each.domain == "")
    label = label.format(dtype=dtype)
    return onward.parse(f'<ir_version: {proto.ir_version}, opset_import: ["" : {opset}]>\n'
                        f"torch_loss ({dtype}[] {OUTPUT}, {label}[] label) => ({dtype} loss) "
                        f"<{initializers.format(dtype=dtype)}> {{ {nodes} }}")


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


# ---- the module

def refuse_modules(model):
    """Names the modules whose training an exported forward pass would not show."""
    norms = {}
    for name, module in model.named_modules():
        what = f"{type(module).__name__} '{name}'"
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            norms.setdefault(module.training, name)
            if module.momentum is None:
                raise onward.Error(f"{what} with momentum=None (a cumulative average) can't be exported")
            if not module.track_running_stats:
                raise onward.Error(f"{what} with track_running_stats=False can't be exported")
            if isinstance(module, nn.SyncBatchNorm):
                raise onward.Error(f"{what} can't be exported: convert it to BatchNorm")
            double = any(buffer.dtype == torch.float64 for buffer in module.buffers())
            if double and numpy.float32(module.eps) != module.eps:
                warnings.warn(f"eps={module.eps} of {what} becomes {float(numpy.float32(module.eps))!r}: ONNX "
                              "attributes are of float32", stacklevel=3)
        elif isinstance(module, nn.Embedding):
            for setting in ("padding_idx", "max_norm"):
                if getattr(module, setting) is not None:
                    raise onward.Error(f"{what} with {setting}={getattr(module, setting)} can't be exported")
            for setting in ("sparse", "scale_grad_by_freq"):
                if getattr(module, setting):
                    raise onward.Error(f"{what} with {setting}=True can't be exported")
        if module._backward_hooks or module._backward_pre_hooks:
            raise onward.Error(f"{what} has backward hooks, which an ONNX model can't call")
    if len(norms) > 1:
        raise onward.Error(f"'{norms[True]}' is in training mode and '{norms[False]}' is not: all BatchNorm layers "
                           "must be in the same mode")


def _export_forward(model, args, batch, options):
    """The module as an inference model that keeps its Dropout nodes, which evaluation leaves out."""
    modes = {module: module.training for module in model.modules()}
    try:
        evaluated = _onnx(model.eval(), args, batch, options)
        kept = _onnx(model.train(), args, batch, options)
    finally:
        for module, mode in modes.items():
            module.training = mode
    switch_dropout_off(kept.graph)
    if operations(kept.graph) != operations(evaluated.graph):
        raise onward.Error("the module computes something else in training than in evaluation, beyond Dropout and "
                           "BatchNorm: that can't be exported")
    return kept


def _onnx(model, args, batch, options):
    if batch is not None and "dynamic_shapes" not in options:
        size = torch.export.Dim(batch)
        options = options | {"dynamic_shapes": tuple({0: size} if isinstance(arg, torch.Tensor) and arg.dim() else None
                                                     for arg in args)}
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)  # or it tells each time of packages that it could use
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # optimize=True would merge equal weights, and fold BatchNorm into convolutions.
            program = torch.onnx.export(model, args, dynamo=True, optimize=False, verbose=False, output_names=[OUTPUT],
                                        **options)
    finally:
        logger.setLevel(level)
    proto = program.model_proto
    if len(proto.graph.output) != 1:
        raise onward.Error(f"the module gives {len(proto.graph.output)} tensors: a loss takes one")
    return proto


def _has_initializer(graph, name):
    return any(tensor.name == name for tensor in graph.initializer)
