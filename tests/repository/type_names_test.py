"""No two types of one namespace have one name. The compiler sees only one file at a time; the linker would silently
take the members of one for those of the other."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIDDEN = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
NAMESPACE = re.compile(r"^namespace ([a-z_:0-9]+) \{$", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|union) (\w+)\b(?!::)[^;{]*\{", re.MULTILINE)


def problems(root):
    homes = collections.defaultdict(set)
    for file in sorted([*root.rglob("*.h"), *root.rglob("*.cpp")]):
        text = HIDDEN.sub("", file.read_text())
        for namespace in NAMESPACE.findall(text):
            for name in TYPE.findall(text):
                homes[f"{namespace}::{name}"].add(str(file.relative_to(root)))
    return [f"{name} is defined in {' and '.join(sorted(files))}"
            for name, files in sorted(homes.items()) if len(files) > 1]


def test_each_type_has_one_home():
    assert problems(ROOT / "src") == []


def test_two_homes_are_found(tmp_path):
    (tmp_path / "a.h").write_text("namespace onward {\nstruct Plan {\n};\n}\n")
    (tmp_path / "b.h").write_text("namespace onward {\nclass Plan final : Other {\n};\n}\n")
    (tmp_path / "c.cpp").write_text("namespace onward {\nnamespace {\n\nstruct Plan {\n};\n\n}  // namespace\n}\n")
    (tmp_path / "d.h").write_text("namespace onward {\nstruct Plan;\n}\n")
    assert problems(tmp_path) == ["onward::Plan is defined in a.h and b.h"]
