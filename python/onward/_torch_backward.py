"""Backward passes that a module makes itself, which a captured forward pass would not show."""

import contextlib
from unittest import mock

import torch
from torch import nn

import onward


def refuse_hooks(model, loss):
    """Names the hooks that change gradients, or see them."""
    for name, module in [*model.named_modules(), ("the loss", loss)]:
        if isinstance(module, nn.Module) and (module._backward_hooks or module._backward_pre_hooks):
            raise onward.Error(f"{type(module).__name__} '{name}' has backward hooks, which an ONNX model can't call: "
                               "remove them")
    if nn.modules.module._global_backward_hooks or nn.modules.module._global_backward_pre_hooks:
        raise onward.Error("all modules have backward hooks, which an ONNX model can't call: remove them")
    for name, parameter in model.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise onward.Error(f"parameter '{name}' has hooks, which an ONNX model can't call: remove them")


def refuse_changed_loss(loss):
    """A loss is known by its class, so that nothing else may change what it gives."""
    if not isinstance(loss, nn.Module):
        return
    what = type(loss).__name__
    if loss._forward_hooks or loss._forward_pre_hooks:
        raise onward.Error(f"the loss {what} has forward hooks, which can't be exported: remove them, and compute in the "
                           "module's forward what they do")
    if "forward" in vars(loss):
        raise onward.Error(f"the loss {what} has a forward of its own, which can't be exported: pass {what}() as it is")
    if nn.modules.module._global_forward_hooks or nn.modules.module._global_forward_pre_hooks:
        raise onward.Error("all modules have forward hooks, and so has the loss, which can't be exported: remove them")


def _custom_function(self, *args, **kwargs):
    name = type(self).__name__.removesuffix("Backward")
    raise onward.Error(f"the forward pass calls {name}, a torch.autograd.Function: its own backward pass would get lost; "
                       "write it with PyTorch's functions")


def _tensor_hook(self, hook):
    raise onward.Error(f"the forward pass registers a hook on a tensor ({getattr(hook, '__qualname__', hook)}), which an "
                       "ONNX model can't call")


@contextlib.contextmanager
def refuse_backward():
    """Refuses whatever changes gradients while a forward pass runs."""
    with contextlib.ExitStack() as patches:
        # Whoever holds a reference to Function.apply, it makes one of these.
        context = torch.autograd.function.BackwardCFunction
        patches.enter_context(mock.patch.object(context, "__init__", _custom_function))
        for name in ("register_hook", "register_post_accumulate_grad_hook"):
            patches.enter_context(mock.patch.object(torch.Tensor, name, _tensor_hook))
        yield
