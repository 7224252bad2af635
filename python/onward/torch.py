"""PyTorch modules, with their loss, optimizer and its state, as ONNX training models.

    model = onward.torch.export(module, torch.nn.CrossEntropyLoss(), optimizer, (images,))

Training continues where PyTorch stopped, with PyTorch's own formulas. Parameters keep their names in `named_parameters`;
tied weights are one tensor. What cannot be exported exactly is rejected by name. Dropout keeps its ratio, but uses Onward's
random numbers. A module in training mode is exported with the modes of its layers, so that a BatchNorm in evaluation mode
stays frozen; a module in evaluation mode is exported as if `train()` had been called. Gradient clipping is not part of an
optimizer, and is not exported.
"""

import contextlib
import logging
import warnings
from typing import Any

import torch
from torch import nn

import onward
from onward import _torch_program as programs
from onward._torch_arguments import check_loss, check_optimizer, example_inputs, module_of
from onward._torch_backward import refuse_backward, refuse_changed_loss, refuse_hooks
from onward._torch_graph import (
    fresh_name,
    name_parameters,
    operations,
    refuse_unknown_operators,
    separate_names,
    simplify,
    switch_dropout_off,
)
from onward._torch_loss import loss_of
from onward._torch_optimizer import optimizer_settings, optimizer_state, trained_parameters


def export(model: Any, loss: Any = None, optimizer: Any = None, args: Any = None, *, batch: str | None = "N",
           **options: Any) -> onward.Model:
    """Returns an onward.Model that continues the training of `model` by `optimizer`.

    model: a module, also one wrapped by torch.compile or DataParallel.
    loss: CrossEntropyLoss, NLLLoss, MSELoss, L1Loss, SmoothL1Loss, HuberLoss, BCELoss, BCEWithLogitsLoss, KLDivLoss or
    PoissonNLLLoss; a step takes the target as `label`.
    optimizer: SGD, Adam, AdamW, Adamax, RAdam, Adagrad, RMSprop, Adadelta or Rprop; its state, if any, is exported too.
    args: example inputs, a tuple or one tensor. Dimension 0 of each is dynamic and named `batch`; with batch=None all
    sizes are fixed.
    options: passed to torch.onnx.export, such as input_names or dynamic_shapes.

    A parameter that has one of our names (`label`, `loss`, `step`, `learning_rate`, `output`) keeps it, and ours is
    renamed: `exported.training[0].names` has the new name.
    """
    model = module_of(model)
    check_loss(loss)
    check_optimizer(optimizer)
    args = example_inputs(model, args)
    refuse_modules(model)
    refuse_hooks(model, loss)
    refuse_changed_loss(loss)
    trained = trained_parameters(model, optimizer)
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
    prepared = onward.prepare(onward.loads(proto), **loss_of(loss), freeze=["*"], train=list(trained),
                              formula="torch", keep_batch=True, **programs.batch_norm_settings(program, double), **settings)
    return prepared.with_tensors(optimizer_state(optimizer, trained, prepared))


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
    kept = _onnx(model, trained, args, options)
    switch_dropout_off(kept.graph)
    if not programs.are_same(trained, evaluated) and \
            operations(kept.graph) != operations(_onnx(model, evaluated, args, options).graph):
        raise onward.Error("the module computes something else in training than in evaluation, beyond Dropout and "
                           "BatchNorm: that can't be exported")
    return kept, trained


def _capture(model, args, options):
    try:
        with _quiet(), refuse_backward():
            return programs.capture(model, args, options["dynamic_shapes"])
    except onward.Error:
        raise
    except Exception as error:
        if "specialized it to be a constant" in str(error):
            raise onward.Error("the forward pass fixes the size of the batch: pass batch=None, and examples of that size") \
                from error
        raise onward.Error(f"PyTorch can't capture the module's forward pass: {_first_line(error)}\n"
                           "  torch.export.export(module, args) shows all of it") from error


def _first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _onnx(model, program, args, options):
    """A captured program as ONNX."""
    outputs = program.graph_signature.user_outputs
    if len(outputs) != 1:
        raise onward.Error(f"the module gives {len(outputs)} tensors, but a loss takes one: wrap it in a module whose "
                           "forward returns that one")
    program = programs.decomposed(program)
    _refuse_changed_buffers(model, program)
    taken = {name for name, _ in [*model.named_parameters(remove_duplicate=False),
                                  *model.named_buffers(remove_duplicate=False)]} | set(program.graph_signature.user_inputs)
    try:
        with _quiet():
            # optimize=True would merge equal weights, and fold BatchNorm into convolutions.
            exported = torch.onnx.export(program, args, dynamo=True, optimize=False, verbose=False,
                                         **{"output_names": [fresh_name("output", taken)]} | options)
        programs.forget_loops()
        separate_names(exported.model.graph)
        proto = exported.model_proto
    except Exception as error:
        raise onward.Error(f"PyTorch's exporter can't write the module as ONNX: {_first_line(error)}\n"
                           "  torch.onnx.export(module, args, dynamo=True) shows all of it") from error
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
