"""Makes ONNX models trainable, and trains them."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from onward._core import (
    Bug,
    Error,
    Evaluation,
    Model,
    Problem,
    Trainer,
    TrainingInfo,
    Value,
    __version__,
    check_file,
    export,
    import_weights,
    load,
    lower,
    operators,
    parse,
    prepare,
)
from onward._core import loads as _loads

__all__ = ["Bug", "Error", "Evaluation", "Model", "Problem", "Trainer", "TrainingInfo", "Value", "__version__",
           "check_file", "evaluate", "export", "import_weights", "load", "loads", "lower", "operators", "parse",
           "prepare", "save"]


def loads(model: Any, *, folder: str | os.PathLike[str] | None = None) -> Model:
    """Loads a model from bytes or from an onnx.ModelProto. External data is read from `folder`; without it, a model
    with external data is an error."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    return _loads(model, folder=folder)


def save(model: Model | Trainer, path: str | os.PathLike[str], *, external_data: bool = False) -> None:
    """Writes a Model, or the model of a Trainer with its current state. The file is written atomically."""
    model.save(path, external_data=external_data)


def evaluate(model: Model, data: str | os.PathLike[str] | Mapping[str, Any], *, batch_size: int | None = None,
             feed: Mapping[str, str] | None = None, threads: int = 0, info: int | None = None,
             metrics: Sequence[str] = ()) -> Evaluation:
    """Computes loss and accuracy of a model on a dataset, with Dropout and BatchNormalization in inference mode.

    data: arrays by name, an .npz file, a folder of .npy files, or "mnist-test:FOLDER".
    batch_size: examples per batch; by default 32, or the model's own if that is fixed.
    feed: the array for each input that is fed from an array of another name.
    threads: CPU threads; by default one per core.
    info: which training info to use; by default all.
    metrics: names of metrics, such as ["f1", "auc", "confusion"], as `onward eval --metrics` takes them; by default
        accuracy, where that fits.
    """
    return Trainer(model, threads=threads).evaluate(data, batch_size=batch_size, feed=dict(feed or {}), info=info,
                                                    metrics=metrics)
