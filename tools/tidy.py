#!/usr/bin/env python3
"""Runs clang-tidy on all files of src/, as a build folder compiles them: tools/tidy.py BUILD_FOLDER JOBS

Nearly all of its time goes into reading headers, so that files which are compiled together are also
looked at together. What passed is not looked at again until a file, a header, the flags or the list of
checks change: it is remembered by a hash of the preprocessed text in the user's cache.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "onward"
TIDY = pathlib.Path(os.environ["ONWARD_TEST_PYTHON"]).parent / "clang-tidy"


def preprocessed(entry):
    command = shlex.split(entry["command"])
    output = command.index("-o")
    del command[output:output + 2]
    command.remove("-c")
    # -E -P: without line marks, so that neither the clone's path nor a comment counts.
    done = subprocess.run([*command, "-E", "-P"], cwd=entry["directory"], capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return done.stdout


def tidy(entry, build, settings):
    """The complaints about one unit; empty where there are none."""
    flags = entry["command"].replace(str(ROOT), "")
    key = hashlib.sha256(settings + flags.encode() + preprocessed(entry)).hexdigest()
    passed = CACHE / "tidy" / key
    if passed.exists():
        return ""
    done = subprocess.run([TIDY, "--quiet", "-p", build, entry["file"]], text=True, capture_output=True)
    if done.returncode:
        return done.stdout or done.stderr
    passed.touch()
    return ""


def main():
    build, jobs = sys.argv[1], int(sys.argv[2])
    entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    ours = [e for e in entries if e["file"].startswith(f"{ROOT}/src/") or "/Unity/" in e["file"]]
    settings = (ROOT / ".clang-tidy").read_bytes()
    settings += subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    (CACHE / "tidy").mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        complaints = [c for c in pool.map(lambda e: tidy(e, build, settings), ours) if c]
    print("\n".join(complaints), end="")
    print(f"tidy: {len(ours)} units, {len(complaints)} with complaints")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
