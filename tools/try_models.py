#!/usr/bin/env python3
"""Tries real models: every .onnx file of a folder goes through Onward, and a table says how far it came.

    tools/setup.py tests sh -c '"$ONWARD_TEST_PYTHON" tools/try_models.py FOLDER'
                         [--build build/ci] [--torch PYTHON] [--json FILE] [--seconds 300] [--only PART]

The columns, each with "ok" or what went wrong:
    check      `onward check` finds no error
    forward    the outputs equal ONNX Runtime's on random inputs (relative error at most 1e-4)
    prepare    a training is added: mean squared error of an output that parameters reach, plain SGD
    gradient   along a random direction it equals central differences (1e-5), both on a copy of the model in double
    step       a training step gives a finite loss
    lowered    the step as plain ONNX gives the same loss and parameters in ONNX Runtime (1e-4)
    torch      the emitted PyTorch module gives the same outputs (1e-4); needs --torch
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = ["check", "forward", "prepare", "gradient", "step", "lowered", "torch"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/ci")
    parser.add_argument("--torch", help="a Python with torch and safetensors")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results here")
    parser.add_argument("--seconds", type=int, default=300, help="for one file")
    parser.add_argument("--only", default="", help="files whose path has this in it")
    options = parser.parse_args()
    files = sorted(file for file in options.folder.rglob("*.onnx") if options.only in str(file.relative_to(options.folder)))
    if not files:
        sys.exit(f"no .onnx file in {options.folder}")
    names = {file: str(file.relative_to(options.folder)) for file in files}
    width = max(map(len, names.values()))
    results = {}
    for file, name in names.items():
        results[name] = found = one_in_a_process(file, options)
        print(f"{name:{width}}  " + "  ".join(f"{column} {'ok' if found.get(column) == 'ok' else '--'}"
                                                   for column in COLUMNS if column in found), flush=True)
        for column in COLUMNS:
            if found.get(column, "ok") not in ("ok", "left out"):
                print(f"    {column}: {found[column]}", flush=True)
    print(f"{len(files)} files: " + ", ".join(
        f"{column} {sum(found.get(column) == 'ok' for found in results.values())}" for column in COLUMNS))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def one_in_a_process(file, options):
    """In a process of its own: a death or a model without end is a result like others."""
    command = [sys.executable, "-B", pathlib.Path(__file__).with_name("try_one_model.py"), file, options.build]
    if options.torch:
        command.append(options.torch)
    path = os.pathsep.join([str(options.build / "python"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile("w+") as output:
        try:
            done = subprocess.run(list(map(str, command)), stdout=output, stderr=subprocess.PIPE, text=True,
                                  timeout=options.seconds, env=os.environ | {"PYTHONPATH": path})
            ended = "" if done.returncode == 0 else f"died ({done.returncode}): {done.stderr.strip()[-300:]}"
        except subprocess.TimeoutExpired:
            ended = f"took over {options.seconds} s"
        output.seek(0)
        found = dict(json.loads(line) for line in output if line.startswith("["))
    if ended:
        found[next(column for column in COLUMNS if column not in found)] = ended
    return found


if __name__ == "__main__":
    main()
