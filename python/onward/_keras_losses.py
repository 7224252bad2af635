"""The losses of a compiled Keras model, as Keras computes them on TensorFlow."""

import keras

import onward
from onward._importing import loss_model
from onward._keras_graph import LOGITS, OUTPUT
from onward._keras_settings import Settings


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
    settings.told("reduction")
    graph.output(result, OUTPUT)
    told = LOSSES[type(loss)](settings, _Reading(graph, result, loss, settings.get("from_logits", False)))
    settings.told("fn")
    settings.finish()
    return told
