"""Makes ONNX models trainable, and trains them."""

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


def loads(model, *, folder=None):
    """Reads a model from the bytes of a file, or from an onnx.ModelProto. External data is looked for in
    `folder`, or refused where there is none."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    return _loads(model, folder=folder)


def save(model, path, *, external_data=False):
    """Writes a Model, or a Trainer's model with its state. The file appears whole or not at all."""
    model.save(path, external_data=external_data)
