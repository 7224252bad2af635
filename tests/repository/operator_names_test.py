"""Each operator has one definition, in src/ops. Everywhere else in src/ its name as a string is counted: a list of
operators that a trait could replace, or one more `op == "..."`, is a place to forget when an operator is added.

Today's counts are in operator_names.txt. They may only fall. Rows that are definitions of their own subject (a kernel,
a call of a framework, a lifting rule) count as well: who adds such a row raises the operator's count with it, by

    python tests/repository/operator_names_test.py
"""

import collections
import pathlib
import re

import onnx.defs

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = pathlib.Path(__file__).with_name("operator_names.txt")
LITERAL = re.compile(r'"([A-Za-z]\w*)"')
DEFINED = re.compile(r'\{(?:\.name = )?"([A-Z]\w*)"')
SOURCES = (".cpp", ".h", ".inc")


def operators(root):
    """The standard's, and those that are ours."""
    names = {schema.name for schema in onnx.defs.get_all_schemas()}
    for file in sorted((root / "src/ops").glob("*.cpp")):
        names |= set(DEFINED.findall(file.read_text())) if "OpDef k" in file.read_text() else set()
    return names


def counts(root, names):
    """How often each name is a whole string outside of src/ops."""
    found = collections.Counter()
    for file in sorted((root / "src").rglob("*")):
        if file.suffix not in SOURCES or file.is_relative_to(root / "src/ops"):
            continue
        found.update(name for name in LITERAL.findall(file.read_text()) if name in names)
    return found


def read_counts(text):
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return collections.Counter({name: int(count) for name, count in rows})


def problems(now, listed):
    told = []
    for name in sorted(now | listed):
        if now[name] > listed[name]:
            told.append(f"{name} is named {now[name]} times outside of src/ops, not {listed[name]}: say what you need of "
                        "it as a trait of its OpDef (src/ops/op_def.h), and ask for that")
        elif now[name] < listed[name]:
            told.append(f"{name} is named {now[name]} times outside of src/ops, no longer {listed[name]}: lower its "
                        "count in tests/repository/operator_names.txt")
    return told


def written(now):
    lines = ["# How often the names of operators stand as strings in src/ outside of src/ops: operator_names_test.py",
             f"# {sum(now.values())} in all"]
    return "\n".join([*lines, *(f"{name} {now[name]}" for name in sorted(now))]) + "\n"


def test_no_operator_is_named_in_more_places():
    assert problems(counts(ROOT, operators(ROOT)), read_counts(COUNTS.read_text())) == []


def test_the_list_is_as_it_would_be_written():
    assert COUNTS.read_text() == written(read_counts(COUNTS.read_text()))


def test_both_ways_are_found(tmp_path):
    (tmp_path / "src/ops").mkdir(parents=True)
    (tmp_path / "src/ops/shape.cpp").write_text('const OpDef kOps[] = {{.name = "SumTo"}, {"Relu"}};')
    (tmp_path / "src/a.cpp").write_text('if (op == "Relu" || op == "Relu6") return "SumTo"; // "Conv of"')
    names = operators(tmp_path)
    assert {"Conv", "Relu", "SumTo"} <= names
    now = counts(tmp_path, names)
    assert now == {"Relu": 1, "SumTo": 1}
    assert problems(now, read_counts(written(now))) == []
    told = problems(now, read_counts("# list\nConv 2\nRelu 1\n"))
    assert len(told) == 2 and told[0].startswith("Conv is named 0 times") and "lower its count" in told[0]
    assert told[1].startswith("SumTo is named 1 times") and "trait" in told[1]


if __name__ == "__main__":
    COUNTS.write_text(written(counts(ROOT, operators(ROOT))))
