"""Makes one graph of two that a model was traced to with other numbers for its open sizes."""

import numpy
from onnx import helper, numpy_helper

import onward


class Sizes:
    """Open sizes of inputs: each with what it was in either trace."""

    def __init__(self):
        self._known = []  # (input, axis, first, second)

    def add(self, name, axis, first, second):
        self._known.append((name, axis, first, second))

    def symbol(self, first, second):
        """What an input calls the size that these two are; None where it is another."""
        names = ["N" if axis == 0 else f"{name}_{axis}" for name, axis, a, b in self._known if (a, b) == (first, second)]
        return names[0] if names else None

    def expression(self, first, second):
        """What gives these two: a list of (input, axis) whose sizes are multiplied, a factor and a summand; or None."""
        for name, axis, a, b in self._known:
            if first - a == second - b:
                return [(name, axis)], 1, first - a
            if first % a == 0 and first // a * b == second:
                return [(name, axis)], first // a, 0
        for name, axis, a, b in self._known:
            for name_2, axis_2, c, d in self._known:
                if (first, second) == (a * c, b * d):
                    return [(name, axis), (name_2, axis_2)], 1, 0
        return None


class _Writer:
    """Nodes that compute sizes, which come before all others."""

    def __init__(self, graph, sizes):
        self.graph, self.sizes, self.nodes, self._made = graph, sizes, [], {}

    def node(self, op, inputs, wanted, **attributes):
        key = (op, *inputs, *attributes.items())
        if key not in self._made:
            self._made[key] = self.graph.fresh(wanted)
            self.nodes.append(helper.make_node(op, inputs, [self._made[key]], name=self._made[key], **attributes))
        return self._made[key]

    def number(self, value):
        return self.graph.constant([value], "number", "int64")

    def size(self, first, second, what):
        """The name of a list of one size."""
        if first == second:
            return self.number(first)
        found = self.sizes.expression(first, second)
        if found is None:
            raise onward.Error(f"{what} can't be exported: how it depends on the sizes of the inputs is not clear")
        factors, times, plus = found
        names = [self.node("Shape", [name], f"{name}_size", start=axis, end=axis + 1) for name, axis in factors]
        total = names[0] if len(names) == 1 else self.node("Mul", names, "elements")
        total = total if times == 1 else self.node("Mul", [total, self.number(times)], "product")
        return total if plus == 0 else self.node("Add", [total, self.number(plus)], "sum")


def unify(graph, other, sizes):
    """Replaces what differs between a graph and another by what it is of the inputs' sizes."""
    _compare(graph, other)
    others = {each.name: numpy_helper.to_array(each) for each in other.initializers}
    writer, kept = _Writer(graph, sizes), []
    before, graph.initializers = graph.initializers, []  # what the writer adds goes there
    for each in before:
        first, second = numpy_helper.to_array(each), others[each.name]
        if first.shape == second.shape and first.tobytes() == second.tobytes():
            kept.append(each)
        else:
            replaced = _replaced(graph, writer, each.name, first, second)
            kept += [] if replaced is None else [replaced]
    graph.initializers = kept + graph.initializers
    graph.nodes[:0] = writer.nodes
    for name, (dtype, shape) in graph.shapes.items():
        pairs = zip(shape, other.shapes[name][1], strict=True)
        graph.shapes[name] = (dtype, [a if a == b else sizes.symbol(a, b) for a, b in pairs])


def _compare(graph, other):
    for one, two in zip(graph.nodes, other.nodes, strict=False):
        if one.SerializeToString() != two.SerializeToString():
            raise onward.Error(f"'{one.name}' can't be exported: what it computes depends on the sizes of the inputs, or on "
                               "whether it is in training")
    if len(graph.nodes) != len(other.nodes) or len(graph.initializers) != len(other.initializers):
        raise onward.Error("the model can't be exported: what it computes depends on the sizes of the inputs, or on whether "
                           "it is in training")


def _replaced(graph, writer, name, first, second):
    """A constant for a list of sizes, or nodes that compute it, under its name."""
    what = f"the constant '{name}'"
    if first.dtype != numpy.int64 or first.ndim > 1 or first.ndim != second.ndim:
        raise onward.Error(f"{what} can't be exported: it depends on the sizes of the inputs, or on whether the model is in "
                           "training")
    if first.shape != second.shape:
        if not all((each == numpy.arange(each.size)).all() for each in (first, second)):
            raise onward.Error(f"{what} can't be exported: its length depends on the sizes of the inputs")
        size = writer.size(first.size, second.size, what)
        shape = graph.constant([], "no_dimensions", "int64")
        zero, one = (graph.constant(each, "number", "int64") for each in (0, 1))
        made = helper.make_node("Range", [zero, writer.node("Reshape", [size, shape], "limit"), one], [name], name=name)
        user = next(node for node in graph.nodes if name in node.input)
        made.metadata_props.extend(user.metadata_props)  # it is called by whom it is made for
        writer.nodes.append(made)
        return None
    differ = first != second
    users = [node for node in graph.nodes if name in node.input]
    is_shape = first.ndim == 1 and all(node.op_type == "Reshape" and node.input[1] == name for node in users)
    if is_shape and differ.sum() == 1 and (first > 0).all():
        return numpy_helper.from_array(numpy.where(differ, -1, first), name)  # what is left
    parts = [writer.size(int(a), int(b), what) for a, b in zip(first.reshape(-1), second.reshape(-1), strict=True)]
    if first.ndim == 0:
        shape = graph.constant([], "no_dimensions", "int64")
        writer.nodes.append(helper.make_node("Reshape", [parts[0], shape], [name], name=name))
    else:
        writer.nodes.append(helper.make_node("Concat", parts, [name], name=name, axis=0))
    return None
