"""Makes ONNX models trainable, and trains them."""

import os
from typing import Any

from onward._core import (
    Bug,
    Error,
    Model,
    Problem,
    Trainer,
    TrainingInfo,
    Value,
    __version__,
    check_file,
    load,
    operators,
    parse,
    prepare,
)
from onward._core import loads as _loads

__all__ = ["Bug", "Error", "Model", "Problem", "Trainer", "TrainingInfo", "Value", "__version__", "check_file",
           "load", "loads", "operators", "parse", "prepare",
           "save"]


def loads(model: Any, *, folder: str | os.PathLike[str] | None = None) -> Model:
    """Loads a model from bytes or from an onnx.ModelProto. External data is read from `folder`; without it, a model
    with external data is an error."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    return _loads(model, folder=folder)


def save(model: Model | Trainer, path: str | os.PathLike[str], *, external_data: bool = False) -> None:
    """Writes a Model, or the model of a Trainer with its current state. The file is written atomically."""
    model.save(path, external_data=external_data)
