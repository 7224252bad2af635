"""PyTorch modules, with their loss, optimizer and its state, as ONNX training models.

    model = onward.torch.export(module, torch.nn.CrossEntropyLoss(), optimizer, (images,))

The training goes on where PyTorch left it, by PyTorch's own formulas. Parameters keep the names that
`named_parameters` gives them; tied weights are one tensor. What can't be said exactly is refused by name.
Dropout keeps its ratio, but its random numbers are Onward's own. A module in training mode is exported with
the modes of its layers, so that a BatchNorm in evaluation mode stays as it is; one in evaluation mode is
exported as if `train()` had been called. Learning rate schedulers and gradient clipping are no part of an
optimizer, and stay behind.
"""

import contextlib
import logging
import warnings

import numpy
import onnx
import torch
from torch import nn

import onward
from onward import _torch_program as programs
from onward._importing import loss_model
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
    double = _is_double(model)
    proto, program = _export_forward(model, args, batch, options)
    if double:
        programs.warn_of_rounded_settings(program)
    refuse_unknown_operators(proto.graph)
    trained = {name: parameter for name, parameter in trained.items() if _has_initializer(proto.graph, name)}
    if not trained:
        raise onward.Error("nothing would be trained: the module's output depends on none of the optimizer's "
                           "parameters that require a gradient")
    prepared = onward.prepare(onward.loads(proto), loss=loss_of(loss, proto), freeze=["*"], train=list(trained),
                              formula="torch", **programs.batch_norm_settings(program, double), **settings)
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
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        raise onward.Error(f"the optimizer {kind.__name__} has hooks, which an ONNX model can't call")
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


# ---- the module

def refuse_modules(model):
    """Names the modules whose training an exported forward pass would not show."""
    for name, module in model.named_modules():
        what = f"{type(module).__name__} '{name}'"
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            if module.momentum is None:
                raise onward.Error(f"{what} with momentum=None (a cumulative average) can't be exported")
            if not module.track_running_stats:
                raise onward.Error(f"{what} with track_running_stats=False can't be exported")
            if isinstance(module, nn.SyncBatchNorm):
                raise onward.Error(f"{what} can't be exported: convert it to BatchNorm")
        elif isinstance(module, nn.Embedding):
            for setting in ("padding_idx", "max_norm"):
                if getattr(module, setting) is not None:
                    raise onward.Error(f"{what} with {setting}={getattr(module, setting)} can't be exported")
            for setting in ("sparse", "scale_grad_by_freq"):
                if getattr(module, setting):
                    raise onward.Error(f"{what} with {setting}=True can't be exported")
        if module._backward_hooks or module._backward_pre_hooks:
            raise onward.Error(f"{what} has backward hooks, which an ONNX model can't call")


def _is_double(model):
    """Whether the module computes in float64; float32 is the only other type."""
    dtypes = {parameter.dtype for parameter in model.parameters()}
    for dtype in dtypes - {torch.float32, torch.float64}:
        raise onward.Error(f"the module has parameters of {dtype}: they must be of torch.float32 or torch.float64")
    return torch.float64 in dtypes


@contextlib.contextmanager
def _quiet():
    """torch.onnx tells each time of packages that it could use."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _export_forward(model, args, batch, options):
    """The module as an inference model that keeps its Dropout nodes, which evaluation leaves out; and its
    program in training."""
    options = {"dynamic_shapes": None} | options
    if batch is not None and options["dynamic_shapes"] is None:
        size = torch.export.Dim(batch)
        any_size = [isinstance(arg, torch.Tensor) and arg.dim() > 0 for arg in args]
        options["dynamic_shapes"] = tuple({0: size} if each else None for each in any_size)
        # A size of one would be taken for fixed.
        args = tuple(torch.cat([arg, arg]) if each and len(arg) == 1 else arg for arg, each in zip(args, any_size))
    modes = {module: module.training for module in model.modules()}
    try:
        evaluated = _capture(model.eval(), args, options)
        for module, mode in modes.items():
            module.training = mode or not modes[model]
        trained = _capture(model, args, options)
    finally:
        for module, mode in modes.items():
            module.training = mode
    programs.refuse_functions(trained)
    programs.refuse_training_in_evaluation(evaluated)
    kept, reference = _onnx(model, trained, args, options), _onnx(model, evaluated, args, options)
    switch_dropout_off(kept.graph)
    if operations(kept.graph) != operations(reference.graph):
        raise onward.Error("the module computes something else in training than in evaluation, beyond Dropout and "
                           "BatchNorm: that can't be exported")
    return kept, trained


def _capture(model, args, options):
    try:
        with _quiet():
            return programs.capture(model, args, options["dynamic_shapes"])
    except Exception as error:
        raise onward.Error(f"PyTorch can't capture the module for {type(args[0]).__name__} inputs: "
                           f"{str(error).strip().splitlines()[0]}") from error


def _onnx(model, program, args, options):
    """A captured program as ONNX."""
    program = programs.decomposed(program)
    _refuse_changed_buffers(model, program)
    with _quiet():
        # optimize=True would merge equal weights, and fold BatchNorm into convolutions.
        exported = torch.onnx.export(program, args, dynamo=True, optimize=False, verbose=False, output_names=[OUTPUT],
                                     **options)
    proto = exported.model_proto
    if len(proto.graph.output) != 1:
        raise onward.Error(f"the module gives {len(proto.graph.output)} tensors: a loss takes one")
    name_parameters(proto.graph, model)
    simplify(proto.graph, programs.numbers(program) | programs.numbers(exported.exported_program))
    return proto


def _refuse_changed_buffers(model, program):
    """Only BatchNorm's statistics may change in a forward pass."""
    statistics = {f"{path}.{name}".lstrip(".") for path, module in model.named_modules()
                  if isinstance(module, nn.modules.batchnorm._BatchNorm) for name, _ in module.named_buffers()}
    signature = program.graph_signature
    for name in [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]:
        if name not in statistics:
            raise onward.Error(f"'{name}' is changed by the forward pass, which can't be exported")


def _has_initializer(graph, name):
    return any(tensor.name == name for tensor in graph.initializer)
