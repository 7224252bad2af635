"""Comparisons of inference: the fast path with the reference interpreter, with itself on other threads and
again, and with ONNX Runtime; ONNX's reference evaluator where that has no answer or another one."""

import dataclasses

import known
from compare import differences
from rounding import slack
from single_nodes import single_nodes, with_all_outputs


def is_choice(a, b):
    """Whether two results differ in what was chosen by comparing: integers, or how many elements there are."""
    return a.dtype.kind in "bui" or a.shape != b.shape


class Inference:
    def __init__(self, sides, tally):
        self.sides = sides
        self.tally = tally

    def check(self, subject):
        """Compares what can be compared; gives nothing, but tells the tally."""
        model, inputs, tally = subject.model.SerializeToString(), subject.inputs, self.tally
        fast = self.sides.fast(model, inputs, threads=1, runs=2)
        if fast.died:
            tally.death(subject, fast.died)
            return
        if fast.refused is not None:
            self.refusal(subject, fast.refused)
            return
        tally.compared("repeated run")
        if not fast.same_bits:
            tally.finding("repeat", subject, "two runs on 1 thread differ in bits")
        self.threads(subject, model, fast)
        self.reference(subject, model, fast)
        self.others(subject, model, fast)

    def refusal(self, subject, reason):
        other = self.sides.runtime(subject.model, subject.inputs)
        if not other.done:
            other = self.sides.evaluator(subject.model, subject.inputs)
        if other.done:
            self.tally.refusal("infer", subject, reason)
        else:
            self.tally.count("refused by all")

    def threads(self, subject, model, fast):
        two = self.sides.fast(model, subject.inputs, threads=2, runs=2)
        self.tally.compared("2 threads")
        if not two.done:
            self.tally.death(subject, two.died or f"refusal on 2 threads: {two.refused}")
        elif not two.same_bits:
            self.tally.finding("repeat", subject, "two runs on 2 threads differ in bits")
        elif differing := self.unexplained(subject, differences(fast.outputs, two.outputs), fast, two):
            self.tally.finding("threads", subject, str(differing))

    def reference(self, subject, model, fast):
        reference = self.sides.reference(model, subject.inputs)
        self.tally.compared("reference interpreter")
        if reference.refused:
            # Of a node that nothing needs, which plans leave out.
            self.tally.refusal("reference", subject, reference.refused)
        elif not reference.done:
            self.tally.finding("reference", subject, reference.died)
        elif differing := self.unexplained(subject, differences(fast.outputs, reference.outputs), fast, reference):
            guilty = list(self.where(subject, self.sides.fast, self.sides.reference))
            entries = [known.find(known.FAST_PATH, single.site()) for single in guilty]
            if guilty and all(entries):
                self.tally.known("Onward's fast path", entries[0])
            else:
                alone = [single.node.op_type for single in guilty]
                self.tally.finding("fast path", subject, f"{differing}; alone: {alone}")

    def others(self, subject, model, fast):
        judges = {"ONNX Runtime": self.sides.runtime, "the reference evaluator": self.sides.evaluator}
        for name, third in zip(judges, reversed(judges)):
            side = judges[name]
            if entry := known.trap(name, subject.model, subject.inputs, subject.types):
                self.tally.known(name, entry)
                continue
            answer = side(model, subject.inputs)
            if answer.died:
                self.tally.count(f"death of {name}")
            if answer.done:
                self.tally.compared(name)
                self.other(subject, fast, answer, (name, side), (third, judges[third]))
                return
        self.tally.count("no other that can judge")

    def other(self, subject, fast, other, second, third):
        name, side = second
        found = differences(fast.outputs, other.outputs, only_kinds=subject.random)
        if not (differing := self.unexplained(subject, found, fast, other)):
            return
        guilty = list(self.where(subject, self.sides.fast, side))
        if not guilty and all(is_choice(fast.outputs[output], other.outputs[output]) for output in differing):
            # Each node agrees on what it is given: what rounds within its bounds was compared, and turned over.
            self.tally.count("comparisons that rounding turns over")
        elif not guilty:
            self.tally.finding("whole graph", subject, f"{name}: {differing}, but no node alone")
        for single in guilty:
            self.judge(subject, single, second, third)

    def judge(self, subject, single, second, third):
        """A node that Onward and another compute differently: known, unless a third that can judge it stands
        against Onward."""
        (name, side), (third_name, third_side) = second, third
        site, op = single.site(), single.node.op_type
        entry = known.find(known.UNDEFINED + known.TABLES[name], site)
        ours, theirs = self.sides.fast(single.model, single.fed), side(single.model, single.fed)
        judge = third_side(single.model, single.fed)
        with_us = judge.done and not differences(ours.outputs, judge.outputs)
        with_them = judge.done and not differences(theirs.outputs, judge.outputs)
        if entry and (with_us or not judge.done or known.excuse(third_name, site)):
            self.tally.known(name, entry)
            self.tally.count("known differences in which a third agrees with Onward", int(with_us))
            return
        verdict = {(True, False): "third opinion is ours", (False, True): "third opinion is theirs",
                   (True, True): "third opinion between", (False, False): "three opinions"}[with_us, with_them]
        what = differences(ours.outputs, theirs.outputs)
        kinds = [None if array is None else f"{array.dtype}{list(array.shape)}" for array in single.inputs]
        self.tally.finding(f"{op} ({verdict if judge.done else 'no third opinion'})", subject,
                           f"{name} in {op} of opset {single.opset} on {kinds}: {list(what.values())}")

    def unexplained(self, subject, found, left, right):
        """The differences that rounding does not explain."""
        if not found:
            return {}
        exact = self.sides.reference(subject.model, subject.inputs)
        if not exact.done:
            return found
        room = slack(lambda model: self.sides.reference(model, subject.inputs), subject.model, subject.types,
                     exact.outputs, subject.seed)
        if room is None:
            return found
        rest = differences(left.outputs, right.outputs, room, subject.random)
        self.tally.count("differences that rounding explains", len(found) - len(rest.keys() & found.keys()))
        return rest

    def where(self, subject, left, right):
        """The nodes of which the two differ, given the same inputs."""
        everything = self.sides.reference(with_all_outputs(subject.model, subject.types), subject.inputs)
        if not everything.done:
            return
        for single in single_nodes(subject, everything.outputs):
            a, b = left(single.model, single.fed), right(single.model, single.fed)
            if a.done and b.done:
                found = differences(a.outputs, b.outputs, only_kinds=subject.random)
                alone = dataclasses.replace(subject, model=single.model, inputs=single.fed)
                if self.unexplained(alone, found, a, b):
                    yield single
