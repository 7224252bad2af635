"""The module keeps to itself what it is linked with, finds oneDNN beside it, and has stubs."""

import pathlib
import re
import subprocess

import onward
import onward._core

MODULE = pathlib.Path(onward._core.__file__)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_only_its_entry_is_visible():
    symbols = [line.split()[-1] for line in run("nm", "-D", "--defined-only", MODULE).splitlines()]
    assert symbols == ["PyInit__core"]


def test_libraries_are_looked_for_beside_it():
    dynamic = run("readelf", "-d", MODULE)
    assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) == ["$ORIGIN"]
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    assert "libdnnl.so.3" in needed
    assert not [name for name in needed if "protobuf" in name or "onnx" in name or "python" in name]
    assert (MODULE.parent / "libdnnl.so.3").exists()


def test_stubs_name_all_that_there_is():
    stubs = (MODULE.parent / "_core.pyi").read_text()
    for name in onward.__all__:
        if name not in ("__version__", "evaluate", "save"):
            assert re.search(rf"^(class|def) {name}\b", stubs, re.MULTILINE), name
    compile(stubs, "_core.pyi", "exec")


def test_everything_is_documented():
    for name in onward.__all__:
        assert name == "__version__" or getattr(onward, name).__doc__, name
    for kind in (onward.Evaluation, onward.Model, onward.Trainer):
        for name in vars(kind):
            assert name.startswith("_") or getattr(kind, name).__doc__, name


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", onward.__version__)
