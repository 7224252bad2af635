"""The tables of planted mistakes fit the sources: tools/mutants.py could plant every one of them."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]

specification = importlib.util.spec_from_file_location("mutants", ROOT / "tools/mutants.py")
mutants = importlib.util.module_from_spec(specification)
specification.loader.exec_module(mutants)


def row(**changes):
    return {"name": "m", "folder": "ops", "file": "a.cpp", "tests": [], "old": "x + 1", "new": "x"} | changes


def test_every_mistake_can_be_planted():
    assert mutants.problems(mutants.read_tables()) == []


def test_every_folder_has_its_mistakes():
    folders = [mutant["folder"] for mutant in mutants.read_tables()]
    assert {folder: folders.count(folder) for folder in set(folders) if folders.count(folder) < 9} == {}
    assert set(folders) == {folder.name for folder in (ROOT / "src").iterdir()}


def test_rows_that_do_not_fit_are_named(tmp_path):
    (tmp_path / "a.cpp").write_text("y = x + 1; z = x + 2; z = x + 2;")
    rows = [row(), row(), row(name="n", old="x + 2"), row(name="o", old="x + 3"), row(name="p", old="y = x + 1;"),
            row(name="q", old="z = x + 2; z", **{"as": "MUTANT"}), row(name="r", file="b.cpp")]
    assert mutants.problems(rows, tmp_path) == [
        "m: two mistakes have this name",
        "n: its text stands 2 times in a.cpp, not once: x + 2",
        "o: its text stands 0 times in a.cpp, not once: x + 3",
        "q: it has to have either `new` or `as`",
        "r: its text stands 0 times in b.cpp, not once: x + 1",
        "m: it overlaps with p in a.cpp",
        "m: it overlaps with m in a.cpp",
    ]


def test_forms_of_a_mistake():
    on = '::onward::mutant("m")'
    assert mutants.planted("y = x + 1;", [row()]) == f'#include "mutant.h"\ny = ({on} ? (x) : (x + 1));'
    assert mutants.planted("f();", [row(old="f();", new="")]) == (
        f'#include "mutant.h"\n{{ if ({on}) {{  }} else {{ f(); }} }}')
    raw = row(old="if (a) {")
    del raw["new"]
    assert mutants.switched(raw | {"as": "if (a && !MUTANT) {"}) == f"if (a && !{on}) {{"
    assert mutants.planted("y = x + 1", [row(file="a.py")]) == (
        'y = (x if (__import__("os").environ.get("ONWARD_MUTANT") == "m") else x + 1)')
