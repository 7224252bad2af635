"""What the tests share that take emitted source back through the importers of the Python package.

A case in a framework is a module like any other, so that `onward.torch.export` and `onward.keras.export` take it, or name
what they don't. Many cases are parts of one module, whose output is all of their results in a row: PyTorch's exporter takes
much longer for each module than for what is in it.
"""

import ast
import os

import numpy as np
from safetensors.numpy import load_file

import onward
from emitted import difference

# Those that are most like a network come first, with weights and axes that are constants.
VARIANTS = ("other inputs held", "inputs", "first input held")
IN_A_MODULE = 40


class Member:
    """A case as a part of a module."""

    def __init__(self, case, folder):
        self.case, self.folder, self.name = case, folder, case["case"]
        self.tensors = load_file(folder / "tensors.safetensors")
        self.feeds = [self.tensors[name] for name in case["inputs"]]
        self.results = load_file(folder / "results.safetensors")

    def problem(self, row):
        """What is wrong with its results, of which there is a row of numbers."""
        expected = [self.results[name] for name in self.case["outputs"]]
        if row.size != sum(each.size for each in expected):
            return f"{row.size} numbers instead of {sum(each.size for each in expected)}"
        ends = np.cumsum([each.size for each in expected])[:-1]
        for name, there, numbers in zip(self.case["outputs"], expected, np.split(row, ends), strict=True):
            result = numbers.reshape(there.shape).astype(there.dtype)
            if there.dtype.kind != "f" and not np.array_equal(result, numbers.reshape(there.shape)):
                return f"{name} is {numbers}"
            if wrong := difference(self.case, name, there, result, self.tensors):
                return wrong
        return None


def calls_of(folder):
    """The functions and layers that a source calls, with the names of arguments, and its operators."""
    found = set()
    for node in ast.walk(ast.parse((folder / "model.py").read_text())):
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func).split(".")[-1]
            found.add((function, *sorted(keyword.arg or "" for keyword in node.keywords)))
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)):
            found.add(type(node.op).__name__)
        elif isinstance(node, ast.Compare):
            found |= {type(each).__name__ for each in node.ops}
    return found


def members(cases):
    """Each case once, in the variant that is most like a network; by default those whose source calls something that no
    source before calls so, with ONWARD_ALL_CASES all of them (`make test-cases`)."""
    variants = {}
    for case, folder in cases:
        if "refused" not in case:
            variants.setdefault(case["case"], {})[case["variant"]] = case, folder
    made, called = [], set()
    for each in variants.values():
        found = next((each[variant] for variant in VARIANTS if variant in each), None)
        if found is None:
            continue
        calls = calls_of(found[1])
        if calls - called or "ONWARD_ALL_CASES" in os.environ:
            made.append(Member(*found))
        called |= calls
    return made


def wrong_imports(cases, refused, imported, together=IN_A_MODULE):
    """What is wrong with the cases that come back, and with the reasons why others do not.

    `imported(members)` makes one module of them, and gives the row of numbers of each from the imported model. `refused` has
    the names of cases by what the error about them says."""
    reasons = {name: reason for reason, names in refused.items() for name in names}
    wrong, rest = [f"{name}: no such case" for name in sorted(set(reasons) - {case["case"] for case, _ in cases})], []
    for member in members(cases):
        if member.name not in reasons:
            rest.append(member)
            continue
        try:
            imported([member])
        except onward.Error as error:
            if reasons[member.name] not in str(error):
                wrong.append(f"{member.name}: {error}")
        else:
            wrong.append(f"{member.name}: not refused")
    for begin in range(0, len(rest), together):
        wrong += _wrong_of(rest[begin:begin + together], imported)
    return wrong


def _wrong_of(group, imported):
    try:
        rows = imported(group)
    except Exception as error:  # of which of them, is found by trying fewer
        if len(group) == 1:
            return [f"{group[0].name}: {type(error).__name__}: {error}"]
        half = len(group) // 2
        return _wrong_of(group[:half], imported) + _wrong_of(group[half:], imported)
    problems = [(member.name, member.problem(row)) for member, row in zip(group, rows, strict=True)]
    return [f"{name}: {problem}" for name, problem in problems if problem]


def rows_of(group, output):
    """The row of numbers of each member, from all of them."""
    sizes = [sum(member.results[name].size for name in member.case["outputs"]) for member in group]
    return np.split(np.asarray(output).reshape(-1), np.cumsum(sizes)[:-1])
