#!/usr/bin/env python3
"""Plants mistakes in a copy of the sources, one at a time, and lists those that no test finds.

The mistakes are in tests/mutants/FOLDER.toml, with the tests of that folder, the quick ones first. One build of
build/mutants holds them all; the environment variable ONWARD_MUTANT switches one on. A row of a table:

    name = "softmax-gradient-sums-dy-alone"
    file = "src/ops/softmax.cpp"
    old = 'y * (dy - sum(y * dy, axis))'    stands exactly once in the file: an expression, or a statement with its ;
    new = 'y * (dy - sum(dy, axis))'        what stands there instead while the mistake is on
    as = '... MUTANT ...'                   in place of `new`, for what is neither: the whole text, where MUTANT is
                                            true while the mistake is on
    tests = ["ops_test", "x_test -k y"]     where others than those of the folder find it, or some of theirs
    harmless = "why no test can find it"    it is not run

Run it as `make mutants`, with MUTANTS="--folder ops --only 'softmax*'" for some of them.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build/mutants"
BUILD = COPY / "build/ci"
SWITCH = """#pragma once
#include <cstdlib>
#include <string_view>
namespace onward {
inline bool mutant(std::string_view name) {
  static const char* const chosen = std::getenv("ONWARD_MUTANT");
  return chosen && name == chosen;
}
}  // namespace onward
"""


def read_tables(root=ROOT):
    """All mistakes, each with the folder and the tests that it belongs to."""
    mutants = []
    for file in sorted((root / "tests/mutants").glob("*.toml")):
        table = tomllib.loads(file.read_text())
        mutants += [{"folder": file.stem, "tests": table["tests"]} | row for row in table["mutant"]]
    return mutants


def problems(mutants, root=ROOT):
    """What is wrong with the tables: a text that does not stand in its file exactly once, or two rows in one place."""
    found, names, places = [], set(), {}
    for mutant in mutants:
        name, file = mutant["name"], mutant["file"]
        if name in names:
            found.append(f"{name}: two mistakes have this name")
        names.add(name)
        if ("new" in mutant) == ("as" in mutant):
            found.append(f"{name}: it has to have either `new` or `as`")
        text = (root / file).read_text() if (root / file).exists() else ""
        count = text.count(mutant["old"])
        if count != 1:
            found.append(f"{name}: its text stands {count} times in {file}, not once: {mutant['old']}")
            continue
        begin = text.index(mutant["old"])
        places.setdefault(file, []).append((begin, begin + len(mutant["old"]), name))
    for file, spans in places.items():
        spans.sort()
        found += [f"{name}: it overlaps with {other} in {file}"
                  for (_, end, other), (begin, _, name) in zip(spans, spans[1:]) if begin < end]
        if file.endswith(".py"):
            found += python_problem(file, root, [mutant for mutant in mutants if mutant["file"] == file])
    return found


def python_problem(file, root, mutants):
    """That the file with its mistakes is no Python, which nobody would see before a test imports it."""
    try:
        compile(planted((root / file).read_text(), mutants), file, "exec")
    except SyntaxError as error:
        return [f"{file}: it cannot be compiled with its mistakes in it: {error}"]
    return []


def switched(mutant):
    """What takes the place of `old`: both, and the switch between them."""
    old, is_python = mutant["old"], mutant["file"].endswith(".py")
    on = (f'(__import__("os").environ.get("ONWARD_MUTANT") == "{mutant["name"]}")' if is_python
          else f'::onward::mutant("{mutant["name"]}")')
    if "as" in mutant:
        return mutant["as"].replace("MUTANT", on)
    new = mutant["new"]
    if is_python:
        return f"({new} if {on} else {old})"
    if old.endswith(";"):
        return f"{{ if ({on}) {{ {new} }} else {{ {old} }} }}"  # one statement, wherever it stands
    return f"({on} ? ({new}) : ({old}))"


def planted(text, mutants):
    """A file's text with its mistakes in it."""
    for mutant in mutants:
        text = text.replace(mutant["old"], "\0" + mutant["name"] + "\0")
    for mutant in mutants:
        text = text.replace("\0" + mutant["name"] + "\0", switched(mutant))
    return text if mutants[0]["file"].endswith(".py") else '#include "mutant.h"\n' + text


def write_copy(mutants):
    """Only what changed is written, so that only that is built."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    contents = {name: (ROOT / name).read_bytes() for name in listed if name and (ROOT / name).is_file()}
    for file in {mutant["file"] for mutant in mutants}:
        own = [mutant for mutant in mutants if mutant["file"] == file]
        contents[file] = planted(contents[file].decode(), own).encode()
    contents["src/mutant.h"] = SWITCH.encode()
    for old in [file for file in COPY.rglob("*") if file.is_file() and BUILD.parent not in file.parents]:
        if str(old.relative_to(COPY)) not in contents:
            old.unlink()
    for name, content in contents.items():
        file = COPY / name
        if file.exists() and file.read_bytes() == content:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if os.access(ROOT / name, os.X_OK):
            file.chmod(0o755)


def build(jobs):
    subprocess.run(["cmake", "--preset", "ci"], cwd=COPY, check=True, stdout=subprocess.DEVNULL)
    # All rows that do not compile are shown at once.
    subprocess.run(["cmake", "--build", "--preset", "ci", "-j", str(jobs), "--", "-k", "0"], cwd=COPY, check=True)


class Tests:
    """The tests that ctest knows, run one by one until the first failure."""

    def __init__(self):
        shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], check=True,
                               stdout=subprocess.PIPE).stdout
        self.known = {test["name"]: test for test in json.loads(shown)["tests"]}
        self.seconds = {}  # without a mistake

    def run(self, name, mutant, timeout):
        """What fails, or None."""
        name, *options = shlex.split(name)
        test = self.known[name]
        properties = {each["name"]: each["value"] for each in test["properties"]}
        environment = os.environ | dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        environment |= {"GTEST_FAIL_FAST": "1", "PYTEST_ADDOPTS": "-x -p no:cacheprovider", "ONWARD_MUTANT": mutant}
        try:
            done = subprocess.run([*test["command"], *options], cwd=properties["WORKING_DIRECTORY"], env=environment,
                                  text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=timeout)
        except subprocess.TimeoutExpired:
            return f"{name}: takes too long"
        if done.returncode == 0:
            return None
        case = re.search(r"^(?:\[  FAILED  \] |FAILED |ERROR )(\S+)", done.stdout, re.MULTILINE)
        return f"{name}: {case[1] if case else done.stdout.strip().splitlines()[-1:]}"

    def run_without(self, name):
        begun = time.monotonic()
        failure = self.run(name, "", None)
        self.seconds[name] = time.monotonic() - begun
        return failure

    def find(self, mutant):
        """The test that finds a mistake, or None."""
        for name in mutant["tests"]:
            if failure := self.run(name, mutant["name"], 60 + 5 * self.seconds[name]):
                return failure
        return None


def run_all(mutants, jobs):
    """How many live that should not."""
    tests = Tests()
    names = list(dict.fromkeys(name for mutant in mutants for name in mutant["tests"]))
    lives = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, failure in zip(names, pool.map(tests.run_without, names)):
            if failure:
                sys.exit(f"mutants: without any mistake this fails: {failure}")
            print(f"{name}: passes without a mistake, in {tests.seconds[name]:.0f} s", flush=True)
        running = {pool.submit(tests.find, mutant): mutant for mutant in mutants}
        for done in concurrent.futures.as_completed(running):
            mutant = running[done]
            print(f"{mutant['folder']:8} {mutant['name']:62} {done.result() or 'LIVES'}", flush=True)
            if not done.result():
                lives.append(mutant["name"])
    print(f"\n{'folder':8} planted  found")
    for folder in dict.fromkeys(mutant["folder"] for mutant in mutants):
        of_folder = [mutant["name"] for mutant in mutants if mutant["folder"] == folder]
        print(f"{folder:8} {len(of_folder):7} {sum(name not in lives for name in of_folder):6}")
    print(f"all      {len(mutants):7} {len(mutants) - len(lives):6}")
    for name in lives:
        print(f"LIVES: {name}")
    return len(lives)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="only list the mistakes")
    parser.add_argument("--folder", action="append", help="only those of this table")
    parser.add_argument("--only", action="append", help="only those whose names fit this pattern")
    parser.add_argument("--jobs", type=int, default=2, help="how many run side by side")
    options = parser.parse_args()
    every = read_tables()
    if wrong := problems(every):
        sys.exit("mutants: the tables do not fit the sources:\n  " + "\n  ".join(wrong))
    chosen = [mutant for mutant in every if (not options.folder or mutant["folder"] in options.folder)
              and (not options.only or any(fnmatch.fnmatch(mutant["name"], each) for each in options.only))]
    if options.list:
        for mutant in chosen:
            print(f"{mutant['folder']:8} {mutant['name']:62} {mutant.get('harmless', mutant['file'])}")
        return 0
    write_copy(every)
    build(options.jobs)
    return 1 if run_all([mutant for mutant in chosen if "harmless" not in mutant], options.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
