"""What onward.torch.export is given, as it needs it; whatever can't be meant is refused with what to pass instead."""

import inspect

import numpy
import torch
from torch import nn

import onward
from onward import _core

WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel)
LOSS_FUNCTIONS = {
    getattr(nn.functional, function): kind for kind, function in (row["torch"] for row in _core._loss_table()) if kind}
USAGE = "export(module, torch.nn.CrossEntropyLoss(), optimizer, (images,))"


def _kind(value):
    return type(value).__name__


def _is_loss(value):
    return isinstance(value, nn.modules.loss._Loss)


def module_of(model):
    """The module itself, out of what torch.compile or DataParallel made of it."""
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise onward.Error(f"the model is the class {model.__name__}: pass an object of it, {model.__name__}(...)")
    if isinstance(model, torch.jit.ScriptModule):
        raise onward.Error("the model is a TorchScript module: pass the nn.Module that it was made from")
    if not isinstance(model, nn.Module):
        hint = "load the module and its optimizer first, " if isinstance(model, str) else ""
        raise onward.Error(f"the model is of type {_kind(model)}, not a torch.nn.Module: {hint}then call {USAGE}")
    while True:
        if isinstance(model, torch._dynamo.OptimizedModule):
            model = model._orig_mod
        elif isinstance(model, WRAPPERS):
            model = model.module
        else:
            break
    for name, child in model.named_modules():
        if isinstance(child, (torch._dynamo.OptimizedModule, *WRAPPERS)):
            attribute = "module" if isinstance(child, WRAPPERS) else "_orig_mod"
            raise onward.Error(f"'{name}' inside of the module is wrapped in {_kind(child)}, which changes the names of its "
                               f"parameters: replace it by its .{attribute}")
    _refuse_devices(model)
    return model


def _refuse_devices(model):
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.device.type == "meta":
            raise onward.Error(f"'{name}' is on the meta device and has no values: load the module's weights first")
        if tensor.device.type != "cpu":
            raise onward.Error(f"'{name}' is on {tensor.device}: call module.cpu() first, and move the optimizer's state too")


def check_loss(loss):
    if isinstance(loss, torch.optim.Optimizer):
        raise onward.Error(f"the loss is the optimizer {_kind(loss)}: the order is {USAGE}")
    if isinstance(loss, type):
        raise onward.Error(f"the loss is the class {loss.__name__}: pass an object of it, {loss.__name__}()")
    if loss in LOSS_FUNCTIONS if callable(loss) and not isinstance(loss, nn.Module) else False:
        raise onward.Error(f"the loss is the function {loss.__name__}: pass torch.nn.{LOSS_FUNCTIONS[loss]}()")


def check_optimizer(optimizer):
    if isinstance(optimizer, torch.optim.Optimizer):
        return
    if _is_loss(optimizer):
        raise onward.Error(f"the optimizer is the loss {_kind(optimizer)}: the order is {USAGE}")
    if isinstance(optimizer, torch.optim.lr_scheduler.LRScheduler):
        raise onward.Error(f"the optimizer is the scheduler {_kind(optimizer)}: pass the optimizer that it drives")
    if isinstance(optimizer, type):
        raise onward.Error(f"the optimizer is the class {optimizer.__name__}: pass an object of it, "
                           f"{optimizer.__name__}(module.parameters())")
    raise onward.Error(f"the optimizer is of type {_kind(optimizer)}, not a torch.optim.Optimizer: {USAGE}")


def example_inputs(model, args):
    """A tuple of tensors, for the arguments of forward in their order."""
    names = list(inspect.signature(model.forward).parameters)
    order = f"in the order of forward's arguments ({', '.join(names)})"
    if args is None:
        raise onward.Error(f"args is missing: pass a tuple of example inputs, {order}")
    if isinstance(args, torch.Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise onward.Error(f"args is of type {_kind(args)}: pass a tuple of example inputs, {order}")
    for i, arg in enumerate(args):
        if isinstance(arg, torch.Tensor):
            continue
        hint = ": pass torch.from_numpy of it" if isinstance(arg, numpy.ndarray) else \
            ": pass its tensors one by one" if isinstance(arg, (dict, list, tuple)) else \
            ": let the module hold it"
        raise onward.Error(f"args[{i}] is of type {_kind(arg)}, but example inputs are tensors{hint}")
    try:
        inspect.signature(model.forward).bind(*args)
    except TypeError as error:
        raise onward.Error(f"args holds {len(args)} example input{'' if len(args) == 1 else 's'}, but forward takes "
                           f"({', '.join(names)}): {error}") from None
    if not args:
        raise onward.Error("args is empty: an exported module needs an input")
    for i, arg in enumerate(args):
        if arg.device.type != "cpu":
            raise onward.Error(f"args[{i}] is on {arg.device}: call .cpu() on it")
    return tuple(args)
