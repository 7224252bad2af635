"""A random graph while it is made: values of known types and shapes, nodes, and where tensors come from."""

import dataclasses
import functools
import random

import numpy as np
import onnx
import values
from onnx import helper, numpy_helper

MOST_ELEMENTS = 4096  # of a value that is given
MOST_IN_LARGE = 20_000  # enough for several threads


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: str
    shape: tuple | None  # None where it depends on data
    array: np.ndarray | None = None  # of a value that no node computes

    @property
    def rank(self):
        return len(self.shape)


@functools.cache
def schema(op, opset):
    return onnx.defs.get_schema(op, opset, "")


@functools.cache
def types_of(op, opset, index):
    """The element types that an operator's input takes."""
    formal = schema(op, opset).inputs
    names = formal[min(index, len(formal) - 1)].types
    return frozenset(name[7:-1] for name in names if name.startswith("tensor(")) & values.NUMPY.keys()


@functools.cache
def versions(op):
    """All versions of an operator at which its form changed."""
    found, at = [], onnx.defs.onnx_opset_version()
    while at > 0 and onnx.defs.has(op, at, ""):
        found.append(schema(op, at).since_version)
        at = found[-1] - 1
    return tuple(found)


class Graph:
    """Operators (operators_*.py) draw all their choices from `choices` and `numbers`: a seed gives a graph.

    A smooth graph is one to be differentiated: all of its floats have the type `float`, and its values
    stay where functions are finite. A large one is work for several threads."""

    def __init__(self, seed, opset, smooth=None, special=False, large=False):
        self.choices = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.opset = opset
        self.smooth = smooth
        self.special = special
        self.large = large
        self.values = []
        self.leaves = {}  # name: kind, one of input, initializer, default (an input that has a default)
        self.nodes = []
        self.random_outputs = set()  # names of values that random numbers go into

    # Choices.

    def maybe(self, chance):
        return self.choices.random() < chance

    def one_of(self, *options):
        return self.choices.choice(options)

    def between(self, low, high):
        return self.choices.randint(low, high)

    def type_for(self, op, index=0, among=None):
        allowed = types_of(op, self.opset, index)
        if among is not None:
            allowed = allowed & among
        if self.smooth:
            allowed = frozenset([self.smooth]) if self.smooth in allowed else allowed - values.FLOATS
        if not allowed:
            raise Unsuitable(op)
        names = sorted(allowed)
        return self.choices.choices(names, [values.WEIGHTS[name] for name in names])[0]

    def dim(self, smallest=0):
        if smallest == 0 and not self.smooth and self.maybe(0.03):
            return 0
        if self.large:
            return self.choices.choice([3, 8, 16, 32, 50, 64])
        return max(smallest, self.choices.choices([1, 2, 3, 4, 5, 7, 8, 17], [6, 8, 8, 6, 4, 2, 2, 1])[0])

    @property
    def max_elements(self):
        return MOST_IN_LARGE if self.large else MOST_ELEMENTS

    def shape(self, rank=None, smallest=0):
        if rank is None:
            rank = self.choices.choices([0, 1, 2, 3, 4, 5], [2, 5, 8, 6, 4, 2])[0]
        shape = [self.dim(smallest) for _ in range(rank)]
        while np.prod(shape, dtype=np.int64) > self.max_elements:
            shape[shape.index(max(shape))] //= 2
        return tuple(shape)

    def broadcast_to(self, shape):
        """A shape that broadcasts to this one."""
        dropped = self.between(0, len(shape)) if self.maybe(0.4) else 0
        return tuple(1 if self.maybe(0.25) else dim for dim in shape[dropped:])

    # Values.

    def fresh(self, hint="v"):
        number = len(self.values)
        return f"{hint}{number}" if number % 11 else f"{hint}/{number}:0"

    def leaf(self, array, kind=None):
        """A value that is given: an input, an initializer, both, or a Constant."""
        kind = kind or self.choices.choices(["input", "initializer", "default", "constant"], [10, 5, 2, 2])[0]
        value = Value(self.fresh("x"), values.NAMES[array.dtype], array.shape, array)
        if kind == "constant" and self.opset < 9 and value.type not in values.FLOATS:
            kind = "initializer"  # a Constant had floats alone
        self.values.append(value)
        if kind == "constant":
            node = helper.make_node("Constant", [], [value.name], value=numpy_helper.from_array(array, value.name))
            self.nodes.append(node)
        else:
            self.leaves[value.name] = kind
        return value

    def number(self, array, name="int64"):
        """A leaf that says a shape, axes or the like: mostly a tensor of the model."""
        array = np.asarray(array, values.NUMPY[name])
        return self.leaf(array, self.choices.choices(["initializer", "constant", "input"], [12, 6, 1])[0])

    def new(self, type, shape, low=-3.0, high=3.0, kind=None):
        return self.leaf(values.draw(self.numbers, type, shape, low, high, self.special), kind)

    def operand(self, op, index=0, type=None, rank=None, shape=None, smallest=0, among=None):
        """A value for an operator's input: one that is there and fits, or a new leaf."""
        type = type or self.type_for(op, index, among)
        if self.maybe(0.7):
            ranks = rank if isinstance(rank, (tuple, range)) else None if rank is None else (rank,)
            fitting = [value for value in self.values if value.type == type and value.shape is not None and
                       (shape is None or value.shape == shape) and (ranks is None or value.rank in ranks) and
                       min(value.shape, default=1) >= smallest]
            if fitting:
                return self.choices.choice(fitting[-4:] if self.maybe(0.6) else fitting)
        if shape is None:
            shape = self.shape(self.choices.choice(rank) if isinstance(rank, (tuple, range)) else rank, smallest)
        return self.new(type, shape)

    def positive(self, value):
        """A value between 0.5 and 1.5, of the same type and shape."""
        if self.maybe(0.5):
            return self.new(value.type, value.shape, 0.5, 1.5)
        half = self.leaf(np.asarray(0.5).astype(values.NUMPY[value.type]), "initializer")
        between = self.add("Sigmoid", [value], [(value.type, value.shape)])[0]
        if self.opset < 7:
            return self.add("Add", [between, half], [(value.type, value.shape)], broadcast=1)[0]
        return self.add("Add", [between, half], [(value.type, value.shape)])[0]

    def add(self, op, inputs, outputs, **attributes):
        """Adds a node; an input or output that is None is left out. Gives the outputs' values."""
        made = []
        for output in outputs:
            made.append(output and Value(self.fresh(), *output))
            if output:
                self.values.append(made[-1])
        names = ["" if value is None else value.name for value in inputs]
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(op, names, ["" if value is None else value.name for value in made])
        for key, value in attributes.items():
            if value is not None:
                kind = schema(op, self.opset).attributes[key].type.value
                node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
        self.nodes.append(node)
        if op.startswith("Random") or self.random_outputs.intersection(names):
            self.random_outputs.update(value.name for value in made if value)
        return made


class Unsuitable(Exception):
    """An operator that has no form for the graph's opset and types."""
