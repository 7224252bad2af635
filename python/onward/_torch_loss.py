"""PyTorch's losses as onward.prepare takes them."""

import inspect

import torch
from torch import nn

import onward
from onward import _core

# The table is src/recipe/loss_table.cpp.
_ROWS = {getattr(nn, row["torch"][0]): row for row in _core._loss_table() if row["torch"][0]}
# Old words for the third, which the object has from them.
_REDUCTION = ("size_average", "reduce", "reduction")


def _refuse(loss, name, value):
    raise onward.Error(f"{type(loss).__name__} with {name}={value} can't be exported: make it without")


def _settings(loss, row):
    """The numbers of the row that the object has; nothing else may be switched on."""
    options = {option: name for name, option in row["options"].items()}
    settings = {}
    for name in inspect.signature(type(loss)).parameters:
        value = getattr(loss, name, None)
        if name in _REDUCTION or value is None:
            continue
        if name in ("weight", "ignore_index") and row["name"] in OF_CLASSES:
            continue
        if name not in options:
            if value is not False:
                _refuse(loss, name, value)
            continue
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            raise onward.Error(f"{type(loss).__name__} with {value.numel()} numbers of {name} can't be exported: give it one")
        settings[options[name]] = float(value)
    return settings


OF_CLASSES = ("softmax_cross_entropy", "nll")


def loss_of(loss):
    """What onward.prepare is told of the loss: its name and settings. It reads the output, whatever computes that."""
    if type(loss) not in _ROWS:
        names = ", ".join(sorted(each.__name__ for each in _ROWS))
        what = type(loss).__name__ if isinstance(loss, nn.Module) else repr(loss)
        raise onward.Error(f"the loss {what} can't be exported: it may be an object of {names}")
    if loss.reduction not in ("mean", "sum"):
        raise onward.Error(f"{type(loss).__name__} with reduction='{loss.reduction}' is no single number to train by: use "
                           "'mean' or 'sum'")
    row = _ROWS[type(loss)]
    told = {"loss": row["name"], "loss_reads": "output", "reduction": loss.reduction, **_settings(loss, row)}
    if row["name"] in OF_CLASSES:
        told["ignore_index"] = loss.ignore_index
        if loss.weight is not None:
            told["class_weights"] = [float(each) for each in loss.weight]
    return told
