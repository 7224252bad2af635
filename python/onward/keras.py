"""Keras models, with their loss, optimizer and its state, as ONNX training models.

    model = onward.keras.export(compiled_model)

Training continues where Keras (3, on TensorFlow) stopped, with Keras's own formulas. Variables keep their paths as names;
kernels are transposed to ONNX's order of dimensions, while inputs and outputs keep Keras's, channels last. What cannot be
exported exactly is rejected by name. Dropout keeps its rate, but uses Onward's random numbers. Arguments of `fit` that
are not part of the compiled model are not exported: sample_weight, class_weight, callbacks; neither are metrics.
"""

import os
from typing import Any

import keras
import numpy

import onward
from onward._keras_losses import loss_of
from onward._keras_settings import Settings
from onward._keras_tracing import is_own
from onward._keras_walk import is_model, layers_of, walked
from onward._optimizers import Optimizers


def export(model: Any, path: str | os.PathLike[str] | None = None) -> onward.Model:
    """Returns an onward.Model that continues the training of the compiled `model`; also writes it to `path`, if given.

    model: Sequential, Functional or of a class of its own whose call is made of Keras's layers and operations (called once
    with keras.Input, which tells what it reads), compiled with one loss (SparseCategoricalCrossentropy,
    CategoricalCrossentropy, BinaryCrossentropy, MeanSquaredError, MeanAbsoluteError or Huber) and SGD, Adam, AdamW, Adamax,
    Adagrad, RMSprop, Adadelta or Lion, whose state is exported too; or the path of a .keras file with such a model.

    A step takes the target as `label` and returns `loss`; the optimizer's state has `learning_rate` and `iterations`. If
    the model has an input of such a name already, a number is appended to ours: `exported.training[0].names` has the names.
    All examples of a batch have equal weight: sample_weight and class_weight are arguments of `fit`, not part of the model,
    and are not exported; neither are metrics and callbacks.
    """
    model = _loaded(model)
    _refuse_models(model)
    _refuse_rows(model)
    settings = optimizer_settings(model.optimizer)
    walk, results = walked(model)
    if len(results) != 1:
        raise onward.Error(f"the model gives {len(results)} tensors, and a loss takes one: export "
                           "keras.Model(model.inputs, one of model.outputs), compiled")
    loss = loss_of(model, walk.graph, results[0])
    trained = _trained(model, walk.graph)
    # A loss that is a graph names what it reads, which may be what the output is computed from.
    loss, loss_settings = loss if isinstance(loss, tuple) else (loss, {})
    reads = {"model_output": walk.graph.names.output} if isinstance(loss, str) else {}
    prepared = onward.prepare(onward.loads(walk.graph.proto()), loss=loss, freeze=["*"],
                              train=[parameter.name for parameter in trained], formula="keras",
                              batch_variance="biased", keep_batch=True, **reads, **loss_settings,
                              **_norm_settings(walk), **settings)
    prepared = prepared.with_tensors(_optimizer_state(model.optimizer, trained, prepared.training[0]))
    if path is not None:
        prepared.save(path)
    return prepared


def _loaded(model):
    """The model of a file, where one is named."""
    if not isinstance(model, (str, os.PathLike)):
        return model
    if not os.path.exists(model):
        raise onward.Error(f"there is no file '{os.fspath(model)}'")
    try:
        return keras.models.load_model(model)
    except (OSError, ValueError, TypeError) as error:
        raise onward.Error(f"Keras can't load '{os.fspath(model)}'; give the model that keras.models.load_model, or the "
                           f"program that made it, gives. Keras says: {error}") from error


def _refuse_models(model):
    if keras.backend.backend() != "tensorflow":
        raise onward.Error(f"Keras runs on {keras.backend.backend()}: its numbers are those of TensorFlow there only; set "
                           "KERAS_BACKEND=tensorflow")
    if not isinstance(model, keras.Model):
        raise onward.Error(f"export takes a compiled keras.Model, or the path of a .keras file, not {type(model).__name__}")
    own = [method for method in ("train_step", "compute_loss", "make_train_function")
           if getattr(type(model), method) is not getattr(keras.Model, method)]
    if own or not (is_model(model) or is_own(model)):
        raise onward.Error(f"{type(model).__name__} '{model.name}' trains in a way of its own ({', '.join(own)}), which can't "
                           "be exported: keras.Model(inputs, outputs) makes a model of the same layers that trains as Keras "
                           "does")
    if not model.compiled:
        raise onward.Error(f"the model '{model.name}' is not compiled: give it a loss and an optimizer with "
                           "model.compile(optimizer=..., loss=...)")
    _refuse_methods(model)
    if model.losses:
        raise onward.Error(f"{len(model.losses)} losses are added by layers (regularizers), which can't be exported: "
                           "build the layers without them; weight_decay of the optimizer may do instead")
    for variable in model.variables:
        if variable.constraint is not None or variable.regularizer is not None:
            raise onward.Error(f"'{variable.path}' has a constraint or a regularizer, which can't be exported: build its "
                               "layer without")


def _refuse_methods(model):
    """An object is known by its class, so that none may have methods of its own."""
    told = [(model, ("call", "compute_loss", "make_train_function", "train_step")),
            (model.optimizer, ("apply", "apply_gradients", "update_step")), (model.loss, ("call",))]
    told += [(layer, ("call",)) for layer in layers_of(model)]
    for each, methods in told:
        for method in methods:
            if method in getattr(each, "__dict__", {}):
                raise onward.Error(f"{type(each).__name__} '{getattr(each, 'name', '')}' has its own {method}, which can't be "
                                   "exported: make the object anew, by its class")


def _refuse_rows(model):
    """Gradients of embeddings come row by row; Keras on TensorFlow squares them before it sums them."""
    if type(model.optimizer) not in OPTIMIZERS.classes or not _row(model.optimizer)[0]["squares_gradients"]:
        return
    for layer in layers_of(model):
        if isinstance(layer, keras.layers.Embedding) and layer.embeddings.trainable:
            raise onward.Error(f"Embedding '{layer.name}' with {type(model.optimizer).__name__} can't be exported: for a "
                               "row that a batch reads several times, Keras squares each gradient by itself; SGD can, or "
                               "trainable=False")


def _norm_settings(walk):
    """Whether batches are normalized by themselves, and how much running statistics keep."""
    momenta = {layer.momentum for layer in walk.norms}
    if not momenta:
        return {"batch_norm": "frozen"}
    if len(momenta) == 1:
        return {"batch_norm": "batch", "batch_momentum": float(momenta.pop())}
    # In the nodes' attributes, where float32 leaves the shortest decimal number as it was.
    for layer in walk.norms:
        if float(str(numpy.float32(layer.momentum))) != layer.momentum:
            raise onward.Error(f"BatchNormalization '{layer.name}' with momentum={layer.momentum} can't be exported: "
                               "layers differ in momentum, and ONNX attributes are of float32")
    return {"batch_norm": "batch"}


# ---- the optimizer

OPTIMIZERS = Optimizers("keras", keras.optimizers)
# What the base class has besides what the table tells; use_ema itself must be off.
BASE = ("name", "ema_momentum", "ema_overwrite_frequency")


def _row(optimizer):
    return OPTIMIZERS.find(type(optimizer), optimizer.get_config() | {"learning_rate": None}, BASE)


def optimizer_settings(optimizer):
    """What onward.prepare is told of the optimizer."""
    kind = type(optimizer)
    if kind not in OPTIMIZERS.classes:
        names = ", ".join(OPTIMIZERS.classes.values())
        raise onward.Error(f"the optimizer {kind.__name__} can't be exported: compile with {names}")
    if not isinstance(optimizer._learning_rate, keras.Variable):
        raise onward.Error(f"{kind.__name__} with a schedule for its learning_rate can't be exported: compile with a number, "
                           "and set the exported model's learning_rate between steps with Trainer.set_state")
    row, settings, rest = _row(optimizer)
    settings["learning_rate"] = float(keras.ops.convert_to_numpy(optimizer.learning_rate))
    excluded = [getattr(optimizer, f"_exclude_from_weight_decay{each}", None) for each in ("", "_pattern")]
    if settings["weight_decay"] and any(excluded):
        raise onward.Error(f"{kind.__name__} leaves variables out of the decay of weights, which can't be exported: compile with "
                           "an optimizer that decays all of them, or none")
    Settings(kind.__name__, rest).finish()
    return {"optimizer": row["name"], **settings}


def _trained(model, graph):
    """The parameters that steps change, in the order of the model's variables."""
    trained = [graph.parameters[id(variable)] for variable in model.trainable_variables
               if id(variable) in graph.parameters]
    if not trained:
        raise onward.Error("nothing would be trained: no variable of the model is trainable")
    return trained


def _optimizer_state(optimizer, trained, training):
    """The optimizer's slots and step count, by the names that the prepared model gives them."""
    if not optimizer.built:
        return {}
    known = {id(variable): place for place, variable in enumerate(optimizer._trainable_variables)}
    if not known:
        raise onward.Error("the optimizer has no variables, so that its state is lost, as Keras loses it when it loads an .h5 "
                           "file: save the model as a .keras file, or compile it anew")
    if set(known) != {id(parameter.variable) for parameter in trained}:
        raise onward.Error(f"the optimizer was built for {len(known)} variables, the model trains {len(trained)} now: "
                           "compile it anew")
    attributes = _row(optimizer)[0]["slots"]
    tensors = {}
    for parameter in trained:
        for slot, name in training.slots[parameter.name].items():
            values = getattr(optimizer, attributes[slot])[known[id(parameter.variable)]]
            tensors[name] = parameter.array(keras.ops.convert_to_numpy(values))
    if "step" in training.names:
        tensors[training.names["step"]] = numpy.array(int(optimizer.iterations), "int64")
    return tensors
