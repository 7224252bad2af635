"""The report of a run, as text."""

import collections

import training
from compare import TOLERANCE


def table(counter):
    return [f"  {count:8}  {' | '.join(map(str, key)) if isinstance(key, tuple) else key}"
            for key, count in counter.most_common()]


def hits_by_operator(tally):
    """One line an operator: how often by version and by type."""
    versions, types = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for (op, version, type), count in tally.hits.items():
        versions[op][version] += count
        types[op][type] += count
    for op in sorted(versions):
        forms = " ".join(f"v{version}:{count}" for version, count in sorted(versions[op].items()))
        kinds = " ".join(f"{type}:{count}" for type, count in types[op].most_common())
        yield f"  {op:26} {sum(versions[op].values()):7}  {forms}  {kinds}"


def report(tally, never_hit):
    findings = collections.Counter(finding.kind for finding in tally.findings)
    lines = ["Tolerances, of the largest element or 1 and of each: " +
             ", ".join(f"{type} {tolerance:g}" for type, tolerance in TOLERANCE.items()) +
             f"; others 0; gradients in double {training.TOLERANCE:g}",
             "Operators, by version of their form and by type:", *hits_by_operator(tally),
             f"Covered operators never hit: {', '.join(never_hit) or 'none'}",
             f"Graphs: {tally.graphs}", "Comparisons:", *table(tally.comparisons),
             "Not compared:", *table(tally.counts),
             "Refusals by Onward that are meant:", *table(tally.refusals),
             "Differences that are the others' own, or of what the standard leaves open:", *table(tally.knowns),
             f"Findings: {len(tally.findings)}", *table(findings)]
    return "\n".join(lines)
