"""Comparisons of training steps: gradients with differences, the fast path with the reference interpreter and
with itself, and the lowered step, run by ONNX Runtime, with the fast path's."""

import dataclasses
import re

import known
import numpy as np
import onnx
import values
from compare import differences
from generate import Subject
from onnx import helper, numpy_helper
from rounding import MANY_RUNS, RUNS, slack
from training_model import NothingToTrain, has_doubles, in_double, training_model

OPSETS = [0, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28]
STEPS = [1e-4, 1e-5, 1e-6]
TOLERANCE = 3e-6
NEARBY, PLACES_NEARBY = 1e-2, 4
STAIRS = {"Ceil", "Floor", "Round"}


class Training:
    def __init__(self, sides, tally):
        self.sides = sides
        self.tally = tally

    def check(self, subject):
        try:
            model, xs = training_model(subject)
        except NothingToTrain:
            self.tally.count("nothing to train")
            return
        tally = self.tally
        fast = self.sides.step(model, subject.inputs, threads=1, runs=2)
        if fast.died:
            tally.death(subject, fast.died)
            return
        if fast.refused is not None:
            if "became" in fast.refused:
                tally.count("a loss that is not finite")
            else:
                tally.refusal("step", subject, fast.refused)
            return
        tally.compared("repeated step")
        if not fast.same_bits:
            tally.finding("repeat", subject, "two steps on 1 thread differ in bits")
        step = Subject(subject.seed, model, subject.inputs, subject.types, set(), subject.smooth)
        self.threads(step, fast)
        if self.reference(step, fast):
            self.gradients(step, xs, fast)
        self.lowered(step, fast)

    def threads(self, subject, fast):
        two = self.sides.step(subject.model, subject.inputs, threads=2, runs=2)
        self.tally.compared("step on 2 threads")
        if not two.done:
            self.tally.death(subject, two.died or f"refusal on 2 threads: {two.refused}")
        elif not two.same_bits:
            self.tally.finding("repeat", subject, "two steps on 2 threads differ in bits")
        elif found := self.unexplained(subject, fast, two):
            self.tally.finding("threads", subject, str(found))

    def reference(self, subject, fast):
        """Whether the reference interpreter has a step, and differences with it."""
        reference = self.sides.reference_step(subject.model, subject.inputs)
        self.tally.compared("step on the reference interpreter")
        if reference.refused:
            # Of a node whose values nothing needs, which plans leave out.
            self.tally.refusal("reference step", subject, reference.refused)
        elif reference.died:
            self.tally.finding("reference", subject, reference.died)
        elif found := self.unexplained(subject, fast, reference):
            self.tally.finding("fast step", subject, str(found))
        return reference.done

    def unexplained(self, subject, left, right):
        if not (found := differences(left.outputs, right.outputs)):
            return found
        exact = self.sides.reference_step(subject.model, subject.inputs)
        rest = found
        for runs in (RUNS, MANY_RUNS):
            room = exact.done and slack(lambda model: self.sides.reference_step(model, subject.inputs), subject.model,
                                        subject.types, exact.outputs, subject.seed, runs)
            if not room:
                return found
            rest = differences(left.outputs, right.outputs, room)
            if not rest or any(values.is_float(left.outputs[name]) for name in rest):
                break
        self.tally.count("differences that rounding explains", len(found) - len(rest))
        return rest

    def gradients(self, subject, xs, single):
        """The gradients of the fast path in double against central differences along one direction. Where a
        function has no derivative (a maximum of equals, a limit that is met), it has one nearby. What is written
        out in double must be what the step in float gives."""
        model = in_double(subject.model, subject.types)
        inputs = {name: array.astype(np.float64) if array.dtype == np.float32 else array
                  for name, array in subject.inputs.items()}
        self.tally.compared("gradients in double")
        if not has_doubles(subject.model):
            self.written_out(subject, single, self.sides.step(model, inputs, threads=1))
        numbers = np.random.default_rng(subject.seed + 2)
        if not (complaint := self.slope(model, inputs, xs, numbers)):
            return
        for _ in range(PLACES_NEARBY):
            at = values_of(model, inputs, xs)
            near = {x: array + NEARBY * numbers.uniform(-1, 1, array.shape) for x, array in at.items()}
            if not self.slope(*moved(model, inputs, near), xs, numbers):
                self.tally.count("gradients where there is no derivative, right nearby")
                return
        if self.climbs_stairs(model, inputs, xs, numbers):
            self.tally.count("differences that go over many steps of Ceil, Floor or Round")
            return
        self.tally.finding("gradient", subject, complaint)

    def written_out(self, subject, single, double):
        """The step in float against that of the standard's functions in double."""
        if not double.done:
            return  # a finding of the gradient's own
        self.tally.compared("step against functions in double")
        narrow = dataclasses.replace(double, outputs={name: array.astype(single.outputs[name].dtype)
                                                      for name, array in double.outputs.items()})
        if found := self.unexplained(subject, single, narrow):
            self.tally.finding("functions", subject, str(found))

    def slope(self, model, inputs, xs, numbers):
        """What differs between the gradient and the differences at one place, in words; None where nothing does."""
        fast = self.sides.step(model, inputs, threads=1)
        if not fast.done:
            return f"in double: {fast.died or fast.refused}"
        at = values_of(model, inputs, xs)
        along = {x: numbers.uniform(-1, 1, array.shape) for x, array in at.items()}
        products = [np.sum(fast.outputs[f"d_{x}"] * along[x]) for x in xs]
        slope, scale = sum(products), max(1.0, *[np.sum(np.abs(fast.outputs[f"d_{x}"] * along[x])) for x in xs])

        def loss(step):
            answer = self.sides.reference_step(*moved(model, inputs, {x: at[x] + step * along[x] for x in xs}))
            return float(answer.outputs["loss"]) if answer.done else np.nan

        for step in STEPS:
            up, down = loss(step), loss(-step)
            central = (up - down) / (2 * step)
            rounding = 1e-14 * max(1.0, abs(up)) / step
            if abs(central - slope) <= TOLERANCE * scale + 10 * rounding:
                return None
        return f"{slope} along a direction, differences say {central}"

    def climbs_stairs(self, model, inputs, xs, numbers):
        """Whether the results of Ceil, Floor or Round are others after the smallest step of the differences. Of a large
        number they always are, and seem to rise where their derivative is 0."""
        stairs = [name for node in model.graph.node if node.op_type in STAIRS for name in node.output]
        plain = onnx.ModelProto.FromString(model.SerializeToString())
        plain.ClearField("training_info")
        del plain.graph.output[:]
        plain.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in stairs)
        at = values_of(model, inputs, xs)
        along = {x: numbers.uniform(-1, 1, array.shape) for x, array in at.items()}
        up, down = (self.sides.reference(*moved(plain, inputs, {x: at[x] + sign * min(STEPS) * along[x] for x in xs}))
                    for sign in (1, -1))
        return bool(stairs) and up.done and down.done and bool(differences(up.outputs, down.outputs))

    def lowered(self, subject, fast):
        opset = OPSETS[subject.seed % len(OPSETS)]
        lowered = self.sides.lower(subject.model, opset)
        if lowered.died:
            self.tally.death(subject, lowered.died)
            return
        if lowered.refused is not None:
            self.tally.refusal(f"lower to opset {opset}" if opset else "lower", subject, lowered.refused)
            return
        model = onnx.ModelProto.FromString(lowered.model)
        self.checked(subject, model, fast.outputs)
        if {node.domain for node in model.graph.node} - {"", "ai.onnx.ml"}:
            self.tally.finding("domain", subject, f"opset {opset}: operators of other domains")
        for name, side in (("ONNX Runtime", self.sides.runtime), ("the reference evaluator", self.sides.evaluator)):
            if entry := known.trap(name, model, subject.inputs, subject.types):
                self.tally.known(name, entry)
                continue
            answer = side(model, subject.inputs)
            if answer.done:
                self.tally.compared(f"lowered step by {name}")
                if found := self.unexplained(subject, fast, answer):
                    self.tally.finding("lowered", subject, f"opset {opset}, {name}: {found}")
                return
        self.tally.count("a lowered step that no other can judge")

    def checked(self, subject, lowered, results):
        """The lowered model must pass ONNX's checker, where the model itself does: it fails on axes of Pad of
        32 bits, and takes sizes of Attention that it does not know for 0."""
        self.tally.compared("lowered step by ONNX's checker")
        if failure := complaint(lowered, subject.types, results):
            plain = onnx.ModelProto.FromString(subject.model.SerializeToString())
            plain.ClearField("training_info")
            if complaint(plain, subject.types, results) or has_wrong_sizes(plain, subject.types):
                self.tally.count("a model that ONNX's checker refuses itself")
            elif is_of_windows_behind_input(lowered, failure):
                self.tally.count("windows that ONNX counts before opset 22, and nothing computes")
            else:
                self.tally.finding("checker", subject, f"opset {lowered.opset_import[0].version}: {failure}")


def complaint(model, types, results):
    try:
        onnx.checker.check_model(with_shapes(model, types, results), full_check=True)
        return None
    except Exception as failure:
        return str(failure)


def is_of_windows_behind_input(model, failure):
    """Whether all that is wrong are sizes of pools that round up, of which nobody has declared the sizes: before opset 22
    ONNX counts windows that begin behind the input."""
    rounded = {node.op_type for node in model.graph.node
               if any(each.name == "ceil_mode" and each.i == 1 for each in node.attribute)}
    blamed = re.findall(r"op_type:(\w+)", failure)
    return model.opset_import[0].version < 22 and bool(blamed) and rounded.issuperset(blamed)


def has_wrong_sizes(model, types):
    """Whether ONNX infers a size that a value does not have."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    return any(inner.HasField("dim_value") and inner.dim_value != size
               for value in [*inferred.value_info, *inferred.output] if types[value.name][1] is not None
               for inner, size in zip(value.type.tensor_type.shape.dim, types[value.name][1]))


def values_of(model, inputs, xs):
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {x: inputs[x] if x in inputs else tensors[x] for x in xs}


def moved(model, inputs, at):
    """The model and its inputs with other values of some."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in model.graph.initializer:
        if tensor.name in at and tensor.name not in inputs:
            tensor.CopyFrom(numpy_helper.from_array(at[tensor.name], tensor.name))
    return model, {name: at.get(name, array) for name, array in inputs.items()}


def with_shapes(model, types, results):
    """ONNX's checker wants a shape of every input and output, though the standard does not."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for value in [*model.graph.input, *model.graph.output]:
        if not value.type.tensor_type.HasField("shape"):
            shape = results[value.name].shape if value.name in results else types[value.name][1]
            value.type.tensor_type.shape.SetInParent()
            for size in shape:
                value.type.tensor_type.shape.dim.add(dim_value=size)
    return model
