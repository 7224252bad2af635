"""From a seed to a model with inputs: what the fuzzer compares."""

import dataclasses

import numpy as np
import onnx
import operators_attention
import operators_elementwise
import operators_image
import operators_layer
import operators_matrix
import operators_normalization
import operators_quantized
import operators_regions
import operators_shape
import operators_signal
import values
from graph import Graph, Unsuitable, schema, versions
from onnx import helper, numpy_helper

OPERATORS = (operators_elementwise.OPERATORS | operators_shape.OPERATORS | operators_layer.OPERATORS |
             operators_matrix.OPERATORS | operators_normalization.OPERATORS | operators_quantized.OPERATORS |
             operators_attention.OPERATORS | operators_image.OPERATORS | operators_regions.OPERATORS |
             operators_signal.OPERATORS)

OLDEST_OPSET, NEWEST_OPSET = 6, onnx.defs.onnx_opset_version()
YOUNG = 23  # the opset from which on operators are new to few graphs, and drawn more often in those

# Operators whose results nobody differentiates, or that draw numbers: not for smooth graphs.
NOT_SMOOTH = {"BitCast", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix", "NonMaxSuppression",
              "NonZero", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", *operators_quantized.OPERATORS}


@dataclasses.dataclass
class Subject:
    """A model, what it is fed, and what is known of its values."""

    seed: int
    model: onnx.ModelProto
    inputs: dict  # of those without a default: name to array
    types: dict  # every value's (type, shape); the shape is None where it depends on data
    random: set  # values that random numbers go into
    smooth: str | None  # the type of all floats, where the graph is to be differentiated

    @property
    def opset(self):
        return self.model.opset_import[0].version

    def hits(self):
        """The operators, with the version of their form and the type of their first input or output."""
        for node in self.model.graph.node:
            names = [name for name in [*node.input, *node.output] if name]
            yield node.op_type, schema(node.op_type, self.opset).since_version, self.types[names[0]][0]


def random_opset(choices):
    return choices.choices([OLDEST_OPSET, choices.randint(7, 12), choices.randint(13, 19), choices.randint(20, 26),
                            choices.randint(27, NEWEST_OPSET)], [4, 26, 34, 30, 6])[0]


def grow(g, among, count):
    """Adds nodes; what has no form for this opset and these types is passed over."""
    wanted = len(g.nodes) + count
    young = [op for op in among if YOUNG <= versions(op)[-1] <= g.opset]
    for _ in range(20 * count):
        if len(g.nodes) >= wanted:
            return
        op = g.choices.choice(young if young and g.maybe(0.2) else among)
        if not onnx.defs.has(op, g.opset, ""):
            continue
        before = (list(g.values), dict(g.leaves), list(g.nodes))
        try:
            OPERATORS[op](g)
            check_sizes(g, len(before[0]))
        except Unsuitable:
            g.values, g.leaves, g.nodes = before


def check_sizes(g, since):
    for value in g.values[since:]:
        if value.shape is not None and (
                np.prod(value.shape, dtype=np.int64) > 5 * g.max_elements or len(value.shape) > 6):
            raise Unsuitable("size")


def ordered(g):
    """The nodes in any order that is valid."""
    left, known, order = list(g.nodes), set(g.leaves), []
    while left:
        ready = [node for node in left if all(name in known for name in node.input if name)]
        node = g.choices.choice(ready)
        left.remove(node)
        order.append(node)
        known.update(node.output)
    return order


class Declared:
    """What the model says of its values' shapes: all, names, nothing of some dimensions, or nothing at all."""

    def __init__(self, g):
        self.g = g
        self.style = g.choices.choices(["known", "symbolic", "unknown", "none"], [10, 5, 3, 2])[0]

    def info(self, value, is_input):
        shape = value.shape
        if self.style == "none" or shape is None or (not is_input and self.g.maybe(0.3)):
            return helper.make_tensor_value_info(value.name, values.ONNX[value.type], None)
        if self.style == "known" or not is_input:
            return helper.make_tensor_value_info(value.name, values.ONNX[value.type],
                                                 shape if self.style == "known" else [None] * len(shape))
        names = {"symbolic": lambda dim: f"D{dim}", "unknown": lambda dim: None}[self.style]
        dims = [dim if self.g.maybe(0.4) else names(dim) for dim in shape]
        return helper.make_tensor_value_info(value.name, values.ONNX[value.type], dims)


def outputs_of(g):
    """Everything that no node reads, and now and then something else."""
    read = {name for node in g.nodes for name in node.input}
    made = {name for node in g.nodes for name in node.output}
    outputs = [value for value in g.values if value.name in made and (value.name not in read or g.maybe(0.2))]
    if g.maybe(0.03) and not g.smooth:
        outputs += [value for value in g.values if value.name in g.leaves][:1]
    g.choices.shuffle(outputs)
    return outputs


def subject(g, seed):
    declared = Declared(g)
    leaves = [value for value in g.values if value.name in g.leaves]
    g.choices.shuffle(leaves)
    old_ir = g.opset < 9 and g.maybe(0.3)  # there, every initializer is an input as well
    if old_ir:
        g.leaves = {name: "default" if kind == "initializer" else kind for name, kind in g.leaves.items()}
    inputs = [declared.info(value, True) for value in leaves if g.leaves[value.name] != "initializer"]
    tensors = [numpy_helper.from_array(value.array, value.name) for value in leaves if g.leaves[value.name] != "input"]
    nodes = ordered(g)
    outputs = [declared.info(value, False) for value in outputs_of(g)]
    named = {value.name for value in outputs}
    inner = [declared.info(value, False) for value in g.values
             if value.name not in g.leaves and value.name not in named and g.maybe(0.1)]
    graph = helper.make_graph(nodes, "fuzzed", inputs, outputs, tensors, value_info=inner)
    opsets = [helper.make_opsetid("", g.opset)]
    ir = 3 if old_ir else max(7, helper.find_min_ir_version_for(opsets))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir)
    fed = {value.name: value.array for value in leaves if g.leaves[value.name] == "input"}
    types = {value.name: (value.type, value.shape) for value in g.values}
    return Subject(seed, model, fed, types, g.random_outputs, g.smooth)


def is_smooth(seed):
    """Half of the graphs are to be trained; not every second one, since processes take seeds by turns."""
    return seed.bit_count() % 2 == 1


def generate(seed, smooth=None):
    """A seed's model; a smooth one has floats of one type alone."""
    smooth = is_smooth(seed) if smooth is None else smooth
    g = Graph(seed, 0)
    g.opset = random_opset(g.choices)
    if smooth:
        g.smooth = g.one_of("float", "float", "double")
    else:
        g.special = g.maybe(0.12)
    g.large = not g.special and g.maybe(0.03)
    names = sorted(OPERATORS.keys() - NOT_SMOOTH if smooth else OPERATORS)
    if g.maybe(0.3):  # a few operators, again and again
        names = g.choices.sample(names, 4)
    while not g.nodes:
        grow(g, names, g.choices.choices([1, 2, 4, 8, 14], [4, 4, 5, 3, 1])[0])
        names = sorted(OPERATORS.keys() - NOT_SMOOTH if smooth else OPERATORS)
    return subject(g, seed)
