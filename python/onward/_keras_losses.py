"""The losses of a compiled Keras model, as Keras computes them on TensorFlow."""

import keras

import onward
from onward import _core
from onward._importing import loss_model
from onward._keras_settings import Settings


def _mean(reduction):
    return {"sum": "ReduceSum"}.get(reduction, "ReduceMean")


def _is_over_classes(node):
    """onward.prepare has classes in dimension 1."""
    return all(attribute.i == 1 for attribute in node.attribute if attribute.name == "axis")


class _Reading:
    """What a loss reads, and how. Where a Softmax or Sigmoid made the very tensor that the model gives, Keras's cross
    entropies read what that was made from, as logits, whatever from_logits says; through any other layer in between,
    be it a Reshape, they do not look.
    """

    def __init__(self, graph, result, loss, from_logits):
        self.graph, self.reduction = graph, loss.reduction
        self.arguments = getattr(loss, "_fn_kwargs", {})
        self.through = result.logits is not None and READS_LOGITS[type(loss)]
        self.is_logits = from_logits or self.through
        self.tensor = result.logits if self.through else result

    def by_name(self, *looked_through):
        """Whether a loss of onward.prepare is meant, which looks through these operators if one is the graph's last."""
        if not self.is_logits or self.reduction == "sum":
            return False
        last = self.graph.producer(self.graph.names.output)
        while last is not None and last.op_type == "Identity":
            last = self.graph.producer(last.input[0])
        is_looked_through = last is not None and last.op_type in looked_through and _is_over_classes(last)
        return self.tensor.plain == (last.input[0] if is_looked_through else self.graph.names.output)

    def model(self, label, nodes, initializers=""):
        """The loss as a graph; {x} is what it reads. Logits become a result of the model, so that it can."""
        names = self.graph.names
        name = self.graph.output(self.tensor, names.logits) if self.through else names.output
        shape = self.tensor.shape[:-1] if label == "int64" else self.tensor.shape
        # Of just this shape: stretched to the other's, labels would give another loss.
        labels = f"{label}[{', '.join('?' if size is None else str(size) for size in shape)}]"
        for place, value in (("{x}", name), ("{y}", names.label), ("{mean}", _mean(self.reduction))):
            nodes = nodes.replace(place, value)
        return loss_model(self.graph.dtype, f"{{dtype}}[] {name}, {labels} {names.label}", nodes, initializers)

    def clipped(self, probabilities):
        """Probabilities that a logarithm can take: the names of constants, and nodes that give `clipped`."""
        epsilon = keras.config.epsilon()
        return (f"{{dtype}} low = {{{{{epsilon!r}}}}}, {{dtype}} high = {{{{{1 - epsilon!r}}}}}",
                f"is_low = Less({probabilities}, low) raised = Where(is_low, low, {probabilities}) "
                "is_high = Greater(raised, high) clipped = Where(is_high, high, raised) ")

    def classes(self, settings):
        """How many there are, in the last dimension."""
        if self.tensor.shape[-1] is None:
            raise onward.Error(f"{settings.what} can't be exported for {self.tensor.shape}: give the model's last "
                               "dimension, that of the classes, a size")
        return self.tensor.shape[-1]


def _sparse(s, read):
    if read.tensor.rank == 2 and read.by_name("Softmax", "LogSoftmax"):
        return "softmax_cross_entropy"
    if read.is_logits:
        initializers, nodes, x = "", "", "{x}"
    else:
        initializers, nodes = read.clipped("{x}")
        initializers, nodes, x = initializers + ", ", nodes + "logs = Log(clipped) ", "logs"
    classes = read.classes(s)
    reduction = "sum" if read.reduction == "sum" else "mean"
    return read.model("int64", nodes + f"rows = Reshape({x}, by_class) labels = Reshape({{y}}, flat) "
                      f'loss = SoftmaxCrossEntropyLoss<reduction = "{reduction}">(rows, labels)',
                      initializers + f"int64[2] by_class = {{{{-1, {classes}}}}}, int64[1] flat = {{{{-1}}}}")


def _categorical(s, read):
    smoothing, axis = float(s["label_smoothing"]), s["axis"]
    if axis not in (-1, read.tensor.rank - 1):
        s.refuse("axis", axis)
    initializers = "int64[1] last = {{-1}}"
    label, nodes = "{y}", ""
    if smoothing:
        kept, rest = 1 - smoothing, smoothing / read.classes(s)
        initializers += f", {{dtype}} kept = {{{{{kept!r}}}}}, {{dtype}} rest = {{{{{rest!r}}}}}"
        nodes, label = "scaled = Mul({y}, kept) smooth = Add(scaled, rest) ", "smooth"
    if read.is_logits:
        nodes += "logs = LogSoftmax<axis = -1>({x}) "
    else:
        more, clip = read.clipped("shares")
        initializers += ", " + more
        nodes += "total = ReduceSum({x}, last) shares = Div({x}, total) " + clip + "logs = Log(clipped) "
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
    label, nodes = "{y}", ""
    if smoothing:
        initializers += f", {{dtype}} kept = {{{{{1 - smoothing!r}}}}}, {{dtype}} rest = {{{{{0.5 * smoothing!r}}}}}"
        nodes, label = "scaled = Mul({y}, kept) smooth = Add(scaled, rest) ", "smooth"
    if read.is_logits:
        # max(x, 0) - x z + log(1 + exp(-|x|)), which no large x overflows
        nodes += ("size = Abs({x}) both = Add({x}, size) positive = Mul(both, half) "
                  f"product = Mul({{x}}, {label}) minus = Neg(size) tail = Softplus(minus) "
                  "difference = Sub(positive, product) each = Add(difference, tail) ")
    else:
        more, clip = read.clipped("{x}")
        initializers += ", " + more
        nodes += (clip + f"yes = Log(clipped) a = Mul({label}, yes) against = Sub(one, clipped) "
                  f"no = Log(against) other = Sub(one, {label}) b = Mul(other, no) both = Add(a, b) each = Neg(both) ")
    nodes += "losses = ReduceMean<keepdims = 0>(each, last) loss = {mean}<keepdims = 0>(losses)"
    return read.model("{dtype}", nodes, initializers)


def _squared_error(s, read):
    if read.reduction != "sum":
        return "mse"
    return read.model("{dtype}", "difference = Sub({x}, {y}) squares = Mul(difference, difference) "
                                 "losses = ReduceMean<keepdims = 0>(squares, last) loss = {mean}<keepdims = 0>(losses)",
                      "int64[1] last = {{-1}}")


def _plain(row):
    """A loss of the table, with its settings."""
    def plain(s, read):
        if read.reduction == "sum":  # of means over the last dimension
            s.refuse("reduction", "sum")
        # Huber's config has no delta, but what it calls its function with has.
        settings = {name: float(read.arguments[option]) for name, option in row["options"].items()}
        s.told(*row["options"].values())
        return (row["name"], settings) if settings else row["name"]
    return plain


# The table is src/recipe/loss_table.cpp; a categorical cross entropy is none of its rows.
k = keras.losses
_ROWS = [(getattr(k, row["keras"][0]), getattr(k, row["keras"][1]), row) for row in _core._loss_table() if row["keras"][0]]
READS_LOGITS = {kind: row["reads_logits"] for kind, _, row in _ROWS} | {k.CategoricalCrossentropy: True}
FUNCTIONS = {function: kind for kind, function, _ in _ROWS} | {k.categorical_crossentropy: k.CategoricalCrossentropy}
LOSSES = {kind: _plain(row) for kind, _, row in _ROWS} | {
    k.SparseCategoricalCrossentropy: _sparse, k.CategoricalCrossentropy: _categorical, k.BinaryCrossentropy: _binary,
    k.MeanSquaredError: _squared_error}


def loss_of(model, graph, result):
    """What onward.prepare is told of the loss: its name, or that and its settings, or its graph."""
    loss = _compiled_loss(model)
    if model._compile_loss is not None and model._compile_loss._user_loss_weights is not None:
        raise onward.Error("loss_weights can't be exported: compile the model without them")
    if loss.dtype != graph.dtype:
        raise onward.Error(f"the model computes in {graph.dtype}, its loss {loss.name} in {loss.dtype}: give both the "
                           "same dtype")
    if loss.reduction not in ("sum_over_batch_size", "mean", "mean_with_sample_weight", "sum"):
        raise onward.Error(f"{type(loss).__name__} with reduction={loss.reduction!r} is no single number to train by: "
                           "it may be sum_over_batch_size, mean or sum")
    settings = Settings(type(loss).__name__, loss.get_config())
    settings.told("reduction")
    graph.output(result, graph.names.output)
    told = LOSSES[type(loss)](settings, _Reading(graph, result, loss, settings.get("from_logits", False)))
    settings.told("fn")
    settings.finish()
    return told


def _named_loss(name):
    try:
        return keras.losses.get(name)
    except ValueError:
        raise onward.Error(f"Keras has no loss {name!r}") from None


def _compiled_loss(model):
    """The loss as an object, however it was given: by its name, as a function, or for the output by its name."""
    loss = model.loss
    if isinstance(loss, dict) and set(loss) == set(model.output_names):
        loss = list(loss.values())
    if isinstance(loss, (list, tuple)) and len(loss) == 1:
        loss = loss[0]
    if loss is None:
        raise onward.Error(f"the model '{model.name}' is compiled without a loss: compile it with one")
    if isinstance(loss, (list, tuple, dict)):
        raise onward.Error(f"a model is exported with one loss, for its one output {model.output_names[0]!r}, not with "
                           f"loss={loss!r}")
    if isinstance(loss, str) and loss.lower() in ("crossentropy", "ce"):
        raise onward.Error(f"loss={loss!r} leaves to the data which loss it is: name it")
    if isinstance(loss, str):
        loss = _named_loss(loss)
    if not isinstance(loss, keras.losses.Loss):
        loss = FUNCTIONS[loss]() if loss in FUNCTIONS else loss
    if type(loss) not in LOSSES:
        names = ", ".join(sorted(each.__name__ for each in LOSSES))
        called = type(loss).__name__ if isinstance(loss, keras.losses.Loss) else getattr(loss, "__name__", loss)
        raise onward.Error(f"the loss {called!r} can't be exported: it may be {names}")
    return loss
