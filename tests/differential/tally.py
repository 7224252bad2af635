"""What a run of the fuzzer has seen."""

import collections
import dataclasses

import refusals


@dataclasses.dataclass
class Finding:
    kind: str
    seed: int
    detail: str


class Tally:
    """Counters of one process, which can be sent to another and added up there."""

    def __init__(self):
        self.graphs = 0
        self.hits = collections.Counter()  # (operator, version, type)
        self.comparisons = collections.Counter()
        self.counts = collections.Counter()
        self.refusals = collections.Counter()  # (verb, why)
        self.knowns = collections.Counter()  # (side, operators, cause)
        self.findings = []

    def __iadd__(self, other):
        self.graphs += other.graphs
        for name in ("hits", "comparisons", "counts", "refusals", "knowns"):
            getattr(self, name).update(getattr(other, name))
        self.findings += other.findings
        return self

    def graph(self, subject):
        self.graphs += 1
        self.hits.update(subject.hits())

    def compared(self, kind):
        self.comparisons[kind] += 1

    def count(self, what, times=1):
        self.counts[what] += times

    def known(self, side, entry):
        self.knowns[side, ", ".join(entry.ops), entry.cause] += 1

    def refusal(self, verb, subject, reason):
        """A refusal of what the others can run: meant, or a finding."""
        why = refusals.explanation(reason)
        if why:
            self.refusals[verb, why] += 1
        else:
            self.finding("refusal", subject, f"{verb}: {reason}")

    def death(self, subject, how):
        """`how` begins with the signal, or says that it was a bug or a hang."""
        self.finding(f"death by {how.split()[0]}", subject, how)

    def finding(self, kind, subject, detail):
        self.findings.append(Finding(kind, subject.seed, detail))
