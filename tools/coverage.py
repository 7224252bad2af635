#!/usr/bin/env python3
"""Lists how many lines of each folder of src/ were executed by a build that counts: tools/coverage.py build/coverage"""

import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def counts_of(counters):
    """The files, each with its lines and how often each was executed, that one object's counters tell of."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", counters], capture_output=True, text=True, check=True)
    for report in filter(None, done.stdout.splitlines()):
        data = json.loads(report)
        for file in data["files"]:
            path = (pathlib.Path(data["current_working_directory"]) / file["file"]).resolve()
            yield path, {line["line_number"]: line["count"] for line in file["lines"]}


def executed_lines(build):
    """{file: {line: whether it was executed}} of src/; a template or an inline function counts once, whoever compiles it."""
    lines = collections.defaultdict(dict)
    # Notes without counters are of objects that no test ran.
    for notes in sorted(build.rglob("CMakeFiles/onward*.dir/**/*.gcno")):
        counters = notes.with_suffix(".gcda")
        for path, counts in counts_of(counters if counters.exists() else notes):
            if path.is_relative_to(ROOT / "src"):
                for line, count in counts.items():
                    lines[path][line] = lines[path].get(line, False) or count > 0
    return lines


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folders = collections.defaultdict(lambda: [0, 0])
    for path, lines in executed_lines(pathlib.Path(sys.argv[1]).resolve()).items():
        for name in (path.relative_to(ROOT / "src").parts[0], "all"):
            folders[name][0] += sum(lines.values())
            folders[name][1] += len(lines)
    for name in sorted(folders, key=lambda each: (each == "all", each)):
        executed, total = folders[name]
        print(f"{name:10} {executed:6} of {total:6} lines {100 * executed / total:6.1f} %")


main()
