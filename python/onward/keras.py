"""Keras models, with their loss, optimizer and its state, as ONNX training models.

    model = onward.keras.export(compiled_model)

The training goes on where Keras (3, on TensorFlow) left it, by Keras's own formulas. Variables keep their paths
as names; kernels are turned to ONNX's order of dimensions, while inputs and outputs keep Keras's, channels last.
What can't be said exactly is refused by name. Dropout keeps its rate, but its random numbers are Onward's own;
metrics, callbacks and the weights of samples and classes are no part of a compiled model's step, and stay behind.
"""

import keras
import numpy

import onward
from onward._importing import loss_model
from onward._keras_settings import Settings
from onward._keras_walk import Walk, is_model, layers_of

OUTPUT, LOGITS = "output", "logits"


def export(model, path=None):
    """Gives an onward.Model that trains as the compiled `model` does; writes it to `path` too, where one is given.

    model: Sequential or Functional, compiled with one loss (SparseCategoricalCrossentropy,
    CategoricalCrossentropy, BinaryCrossentropy or MeanSquaredError) and SGD, Adam, AdamW or Adagrad, whose state
    comes along. A step takes the target as `label`.
    """
    _refuse_models(model)
    _refuse_rows(model)
    settings = optimizer_settings(model.optimizer)
    walk = Walk(model)
    results = walk.write(model)
    if len(results) != 1:
        raise onward.Error(f"the model gives {len(results)} tensors: a loss takes one")
    loss = loss_of(model, walk.graph, results[0])
    trained = _trained(model, walk.graph)
    prepared = onward.prepare(onward.loads(walk.graph.proto()), loss=loss, output=OUTPUT, freeze=["*"],
                              train=[parameter.name for parameter in trained], formula="keras",
                              batch_variance="biased", **_norm_settings(walk), **settings)
    prepared = prepared.with_tensors(_optimizer_state(model.optimizer, trained, prepared))
    if path is not None:
        prepared.save(path)
    return prepared


def _refuse_models(model):
    if keras.backend.backend() != "tensorflow":
        raise onward.Error(f"Keras runs on {keras.backend.backend()}: its numbers are those of TensorFlow there only")
    if not is_model(model):
        raise onward.Error(f"{type(model).__name__} '{model.name}' may compute and train in ways of its own: "
                           "only Sequential and Functional models can be exported")
    if not model.compiled:
        raise onward.Error(f"the model '{model.name}' is not compiled: it has no loss and no optimizer")
    if model.losses:
        raise onward.Error(f"{len(model.losses)} losses are added by layers (regularizers), which can't be exported")
    for variable in model.variables:
        if variable.constraint is not None or variable.regularizer is not None:
            raise onward.Error(f"'{variable.path}' has a constraint or a regularizer, which can't be exported")


def _refuse_rows(model):
    """Gradients of embeddings come row by row; Keras on TensorFlow squares them before it sums them."""
    if isinstance(model.optimizer, keras.optimizers.SGD):
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

def _sgd(s):
    momentum, nesterov = float(s["momentum"]), s["nesterov"]
    if nesterov and not momentum:
        return {"optimizer": "sgd"}
    kind = "nesterov" if nesterov else "momentum" if momentum else "sgd"
    return {"optimizer": kind, **({"momentum": momentum} if momentum else {})}


def _adam(s):
    # The decay of weights is apart from the gradient in all of Keras's optimizers: Adam with one is its AdamW.
    return {"optimizer": "adam", "beta1": float(s["beta_1"]), "beta2": float(s["beta_2"]),
            "epsilon": float(s["epsilon"])}


def _adagrad(s):
    return {"optimizer": "adagrad", "epsilon": float(s["epsilon"]),
            "initial_accumulator": float(s["initial_accumulator_value"])}


OPTIMIZERS = {keras.optimizers.SGD: _sgd, keras.optimizers.Adam: _adam, keras.optimizers.AdamW: _adam,
              keras.optimizers.Adagrad: _adagrad}
# The names of slots in the exported model, and where each optimizer of Keras keeps its variables of that kind.
SLOTS = {keras.optimizers.SGD: {"momentum": "momentums"},
         keras.optimizers.Adam: {"momentum": "_momentums", "velocity": "_velocities"},
         keras.optimizers.AdamW: {"momentum": "_momentums", "velocity": "_velocities"},
         keras.optimizers.Adagrad: {"accumulator": "_accumulators"}}


def optimizer_settings(optimizer):
    """What onward.prepare is told of the optimizer."""
    kind = type(optimizer)
    if kind not in OPTIMIZERS:
        names = ", ".join(sorted(each.__name__ for each in OPTIMIZERS))
        raise onward.Error(f"the optimizer {kind.__name__} can't be exported: it may be {names}")
    config = optimizer.get_config()
    settings = Settings(kind.__name__, config)
    if not isinstance(config["learning_rate"], (int, float, numpy.floating)):
        raise onward.Error(f"{kind.__name__} with a schedule for its learning_rate can't be exported")
    settings["learning_rate"]
    told = OPTIMIZERS[kind](settings)
    told["learning_rate"] = float(keras.ops.convert_to_numpy(optimizer.learning_rate))
    told["weight_decay"] = float(settings["weight_decay"] or 0)
    excluded = [getattr(optimizer, f"_exclude_from_weight_decay{each}", None) for each in ("", "_pattern")]
    if told["weight_decay"] and any(excluded):
        raise onward.Error(f"{kind.__name__} leaves variables out of the decay of weights, which can't be exported")
    settings.get("ema_momentum"), settings.get("ema_overwrite_frequency")  # use_ema itself must be off
    settings.finish()
    return told


def _trained(model, graph):
    """The parameters that steps change, in the order of the model's variables."""
    trained = [graph.parameters[id(variable)] for variable in model.trainable_variables
               if id(variable) in graph.parameters]
    if not trained:
        raise onward.Error("nothing would be trained: no variable of the model is trainable")
    return trained


def _optimizer_state(optimizer, trained, prepared):
    """The optimizer's slots and step count, by the names that the prepared model gives them."""
    if not optimizer.built:
        return {}
    known = {id(variable): place for place, variable in enumerate(optimizer._trainable_variables)}
    if set(known) != {id(parameter.variable) for parameter in trained}:
        raise onward.Error(f"the optimizer was built for {len(known)} variables, the model trains {len(trained)} now: "
                           "compile it anew")
    tensors = {}
    for slot, attribute in SLOTS[type(optimizer)].items():
        for parameter in trained:
            name = f"{parameter.name}.{slot}"
            if name in prepared.state:
                values = getattr(optimizer, attribute)[known[id(parameter.variable)]]
                tensors[name] = parameter.array(keras.ops.convert_to_numpy(values))
    if "iterations" in prepared.state:
        steps = prepared.state["iterations"]
        tensors["iterations"] = numpy.array(int(optimizer.iterations), steps.dtype).reshape(steps.shape)
    return tensors


# ---- the loss

def _mean(reduction):
    return {"sum": "ReduceSum"}.get(reduction, "ReduceMean")


class _Reading:
    """What a loss reads, and how: Keras looks through a last Softmax or Sigmoid, whatever from_logits says."""

    def __init__(self, graph, result, loss, from_logits):
        self.graph, self.reduction = graph, loss.reduction
        self.through = result.logits is not None and type(loss) is not keras.losses.MeanSquaredError
        self.is_logits = from_logits or self.through
        self.tensor = result.logits if self.through else result
        self.last, self.last_axis = result.last, result.last_axis

    def by_name(self, last):
        """Whether a loss of onward.prepare, which looks through `last` alone, is meant."""
        over_classes = last != "Softmax" or self.last_axis == self.tensor.rank - 1
        return self.is_logits and self.reduction != "sum" and (not self.through or (self.last == last and over_classes))

    def model(self, label, nodes, initializers=""):
        """The loss as a graph; {x} is what it reads. Logits become a result of the model, so that it can."""
        name = self.graph.output(self.tensor, LOGITS) if self.through else OUTPUT
        return loss_model(self.graph.dtype, f"{{dtype}}[] {name}, {label}[] label",
                          nodes.replace("{x}", name).replace("{mean}", _mean(self.reduction)), initializers)

    def clipped(self):
        """Probabilities that a logarithm can take."""
        epsilon = keras.config.epsilon()
        return (f"{{dtype}} low = {{{{{epsilon!r}}}}}, {{dtype}} high = {{{{{1 - epsilon!r}}}}}",
                "clipped = Clip({p}, low, high) ")


def _sparse(s, read):
    if read.by_name("Softmax") and read.tensor.rank == 2:
        return "softmax_cross_entropy"
    if read.is_logits:
        initializers, nodes, x = "", "", "{x}"
    else:
        initializers, nodes = read.clipped()
        initializers, nodes, x = initializers + ", ", nodes.replace("{p}", "{x}") + "logs = Log(clipped) ", "logs"
    classes = read.tensor.shape[-1]
    reduction = "sum" if read.reduction == "sum" else "mean"
    return read.model("int64", nodes + f"rows = Reshape({x}, by_class) labels = Reshape(label, flat) "
                      f'loss = SoftmaxCrossEntropyLoss<reduction = "{reduction}">(rows, labels)',
                      initializers + f"int64[2] by_class = {{{{-1, {classes}}}}}, int64[1] flat = {{{{-1}}}}")


def _categorical(s, read):
    smoothing, axis = float(s["label_smoothing"]), s["axis"]
    if axis not in (-1, read.tensor.rank - 1):
        s.refuse("axis", axis)
    initializers = "int64[1] last = {{-1}}"
    label = "label"
    nodes = ""
    if smoothing:
        kept, rest = 1 - smoothing, smoothing / read.tensor.shape[-1]
        initializers += f", {{dtype}} kept = {{{{{kept!r}}}}}, {{dtype}} rest = {{{{{rest!r}}}}}"
        nodes, label = "scaled = Mul(label, kept) smooth = Add(scaled, rest) ", "smooth"
    if read.is_logits:
        nodes += "logs = LogSoftmax<axis = -1>({x}) "
    else:
        more, clip = read.clipped()
        initializers += ", " + more
        nodes += ("total = ReduceSum({x}, last) shares = Div({x}, total) " + clip.replace("{p}", "shares") +
                  "logs = Log(clipped) ")
    nodes += (f"products = Mul({label}, logs) sums = ReduceSum<keepdims = 0>(products, last) "
              "losses = Neg(sums) loss = {mean}<keepdims = 0>(losses)")
    return read.model("{dtype}", nodes, initializers)


def _binary(s, read):
    smoothing, axis = float(s["label_smoothing"]), s["axis"]
    if axis not in (-1, read.tensor.rank - 1):
        s.refuse("axis", axis)
    if read.by_name("Sigmoid") and not smoothing:
        return "bce_with_logits"
    initializers = "int64[1] last = {{-1}}, {dtype} one = {{1}}, {dtype} half = {{0.5}}"
    label, nodes = "label", ""
    if smoothing:
        initializers += f", {{dtype}} kept = {{{{{1 - smoothing!r}}}}}, {{dtype}} rest = {{{{{0.5 * smoothing!r}}}}}"
        nodes, label = "scaled = Mul(label, kept) smooth = Add(scaled, rest) ", "smooth"
    if read.is_logits:
        # max(x, 0) - x z + log(1 + exp(-|x|)), which no large x overflows
        nodes += ("size = Abs({x}) both = Add({x}, size) positive = Mul(both, half) "
                  f"product = Mul({{x}}, {label}) minus = Neg(size) tail = Softplus(minus) "
                  "difference = Sub(positive, product) each = Add(difference, tail) ")
    else:
        more, clip = read.clipped()
        initializers += ", " + more
        nodes += (clip.replace("{p}", "{x}") + f"yes = Log(clipped) a = Mul({label}, yes) against = Sub(one, clipped) "
                  f"no = Log(against) other = Sub(one, {label}) b = Mul(other, no) both = Add(a, b) each = Neg(both) ")
    nodes += "losses = ReduceMean<keepdims = 0>(each, last) loss = {mean}<keepdims = 0>(losses)"
    return read.model("{dtype}", nodes, initializers)


def _squared_error(s, read):
    if read.reduction != "sum":
        return "mse"
    return read.model("{dtype}", "difference = Sub({x}, label) squares = Mul(difference, difference) "
                                 "losses = ReduceMean<keepdims = 0>(squares, last) loss = {mean}<keepdims = 0>(losses)",
                      "int64[1] last = {{-1}}")


k = keras.losses
LOSSES = {k.SparseCategoricalCrossentropy: _sparse, k.CategoricalCrossentropy: _categorical,
          k.BinaryCrossentropy: _binary, k.MeanSquaredError: _squared_error}
FUNCTIONS = {k.sparse_categorical_crossentropy: k.SparseCategoricalCrossentropy,
             k.categorical_crossentropy: k.CategoricalCrossentropy, k.binary_crossentropy: k.BinaryCrossentropy,
             k.mean_squared_error: k.MeanSquaredError}


def loss_of(model, graph, result):
    """What onward.prepare is told of the loss: its name, or its graph."""
    loss = model.loss
    if isinstance(loss, (list, tuple, dict)) or loss is None:
        raise onward.Error(f"a model is exported with one loss, not with loss={loss!r}")
    if isinstance(loss, str) and loss.lower() in ("crossentropy", "ce"):
        raise onward.Error(f"loss={loss!r} leaves to the data which loss it is: name it")
    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    if not isinstance(loss, keras.losses.Loss):
        if loss not in FUNCTIONS:
            names = ", ".join(sorted(each.__name__ for each in LOSSES))
            raise onward.Error(f"the loss {getattr(loss, '__name__', loss)!r} can't be exported: it may be {names}")
        loss = FUNCTIONS[loss]()
    if type(loss) not in LOSSES:
        names = ", ".join(sorted(each.__name__ for each in LOSSES))
        raise onward.Error(f"the loss {type(loss).__name__} can't be exported: it may be {names}")
    if model._compile_loss is not None and model._compile_loss._user_loss_weights is not None:
        raise onward.Error("loss_weights can't be exported")
    if loss.dtype != graph.dtype:
        raise onward.Error(f"the model computes in {graph.dtype}, its loss {loss.name} in {loss.dtype}: give both the "
                           "same dtype")
    if loss.reduction not in ("sum_over_batch_size", "mean", "mean_with_sample_weight", "sum"):
        raise onward.Error(f"{type(loss).__name__} with reduction={loss.reduction!r} is no single number to train by")
    settings = Settings(type(loss).__name__, loss.get_config())
    settings["reduction"]
    graph.output(result, OUTPUT)
    told = LOSSES[type(loss)](settings, _Reading(graph, result, loss, settings.get("from_logits", False)))
    settings.get("fn")
    settings.finish()
    return told
