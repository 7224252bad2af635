"""Control flow for ONNX's reference evaluator, as the standard has it: the evaluator's own Loop stacks matrices
wrongly and takes a condition that is left out for false, its Scan knows neither axes nor directions, its
SequenceMap does not see the graph around, its SequenceInsert puts what belongs at the end to the front, and what it takes out of an optional value is still a list."""

import numpy as np
import onnx
from onnx.reference.op_run import OpRun


def run_body(body, context, names, values):
    return body.run(None, {**(context or {}), **dict(zip(names, values, strict=True))})


def stack(layers, body, index, axis=0, backwards=False):
    if layers:
        return np.stack(layers[::-1] if backwards else layers, axis)
    graph = getattr(body.proto_, "graph", body.proto_)
    tensor = graph.output[index].type.tensor_type
    dims = [dim.dim_value for dim in tensor.shape.dim]
    dims.insert(axis if axis >= 0 else len(dims) + 1 + axis, 0)
    return np.zeros(dims, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))


class Loop(OpRun):
    op_domain = ""

    def need_context(self):
        return True

    def _run(self, trips=None, condition=None, *states, context=None, body=None, attributes=None, bindings=None):
        names, layers = self.body.input_names, []
        looks, trip, states = condition is not None, 0, list(states)
        condition = np.array(True) if condition is None else condition
        while (not looks or condition) and (trips is None or trip < trips):
            values = [np.array(trip, np.int64), condition, *states]
            results = run_body(self.body, context, names, values)
            condition = results[0]
            states = results[1:1 + len(states)]
            layers.append(results[1 + len(states):])
            trip += 1
        scans = len(self.body.output_names) - 1 - len(states)
        first = 1 + len(states)
        return (*states, *(stack([each[i] for each in layers], self.body, first + i) for i in range(scans)))


class Scan(OpRun):
    op_domain = ""

    def need_context(self):
        return True

    def _run(self, *inputs, context=None, body=None, num_scan_inputs=None, scan_input_axes=None,
             scan_input_directions=None, scan_output_axes=None, scan_output_directions=None, attributes=None,
             bindings=None):
        states, sequences = list(inputs[:-self.num_scan_inputs]), inputs[-self.num_scan_inputs:]
        scans = len(self.body.output_names) - len(states)
        axes = self.scan_input_axes or [0] * len(sequences)
        directions = self.scan_input_directions or [0] * len(sequences)
        output_axes = self.scan_output_axes or [0] * scans
        output_directions = self.scan_output_directions or [0] * scans
        layers = []
        for time in range(sequences[0].shape[axes[0]]):
            slices = [np.take(x, -1 - time if backwards else time, axis)
                      for x, axis, backwards in zip(sequences, axes, directions)]
            results = run_body(self.body, context, self.body.input_names, [*states, *slices])
            states = results[:len(states)]
            layers.append(results[len(states):])
        stacks = [stack([each[i] for each in layers], self.body, len(states) + i, output_axes[i], output_directions[i])
                  for i in range(scans)]
        return (*states, *stacks)


class SequenceMap(OpRun):
    op_domain = ""

    def need_context(self):
        return True

    def _run(self, *inputs, context=None, body=None, attributes=None, bindings=None):
        results = [run_body(self.body, context, self.body.input_names,
                            [each[i] if isinstance(each, list) else each for each in inputs])
                   for i in range(len(inputs[0]))]
        return tuple([each[i] for each in results] for i in range(len(self.body.output_names)))


class SequenceInsert(OpRun):
    op_domain = ""

    def _run(self, sequence, tensor, position=None):
        at = len(sequence) if position is None else int(position)
        at += len(sequence) if at < 0 else 0
        return ([*sequence[:at], tensor, *sequence[at:]],)


class Optional(OpRun):
    """A list of one tensor, or of none."""

    op_domain = ""

    def _run(self, x=None, type=None):
        return ([] if x is None else [x],)


class OptionalGetElement(OpRun):
    op_domain = ""

    def _run(self, x):
        return (x[0] if isinstance(x, list) else x,)


class OptionalHasElement(OpRun):
    op_domain = ""

    def _run(self, x=None):
        return (np.array(x is not None and (not isinstance(x, list) or len(x) > 0)),)


CONTROL_FLOW = [Loop, Scan, SequenceMap, SequenceInsert, Optional, OptionalGetElement, OptionalHasElement]
