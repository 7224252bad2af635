"""`make -s wheel` makes one wheel for every Python from 3.10 on. It holds program, package and libraries with their
licences, and needs nothing but Python, NumPy and the C and C++ libraries where it is installed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from notices import require_all_parts

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALONE = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]}
# As the tests' own build, so that the compiler's cache has it all.
BUILD = {"JOBS": str(os.cpu_count()), "SKBUILD_CMAKE_DEFINE": "CMAKE_COMPILE_WARNING_AS_ERROR=ON"}
# What a manylinux wheel may expect, as far as we use it.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
                 "libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel():
    [path] = run("make", "-s", "wheel", cwd=ROOT, env=os.environ | BUILD).splitlines()
    return pathlib.Path(path)


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def scripts(wheel, tmp_path_factory):
    """The commands of a fresh environment that the wheel was installed into."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/pip", "install", "--only-binary", ":all:", wheel)
    return folder / "bin"


def is_elf(file):
    with open(file, "rb") as opened:
        return opened.read(4) == b"\x7fELF"


def test_it_is_one_file_for_all_pythons(wheel):
    assert re.fullmatch(r"onward-\d+\.\d+\.\d+-cp310-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size < 30e6


def test_libraries_are_inside(unpacked):
    binaries = [file for file in unpacked.rglob("*") if file.is_file() and is_elf(file)]
    inside = {file.name for file in binaries}
    assert {"_core.abi3.so", "onward", "libdnnl.so.3"} <= inside and any(name.startswith("libgomp") for name in inside)
    for file in binaries:
        dynamic = run("readelf", "-d", file)
        assert set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) <= OF_THE_SYSTEM | inside, file
        for path in ":".join(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)).split(":"):
            assert path == "" or path.startswith("$ORIGIN"), file


def test_nothing_leads_back_to_where_it_was_built(unpacked):
    for file in unpacked.rglob("*"):
        assert not file.is_symlink()
        if file.is_file() and not file.name.startswith("libdnnl"):
            assert str(ROOT).encode() not in file.read_bytes(), file


def test_the_package_is_whole(unpacked):
    package = unpacked / "onward"
    assert {file.name for file in package.glob("*.py")} == {file.name for file in (ROOT / "python/onward").glob("*.py")}
    assert (package / "py.typed").exists() and "def evaluate" in (package / "_core.pyi").read_text()


def test_licences_of_all_parts_are_inside(unpacked):
    [licences] = unpacked.glob("onward-*.dist-info/licenses")
    assert (licences / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    require_all_parts((licences / "NOTICES").read_text())


@pytest.mark.parametrize("command", [["onward"], ["python", "-m", "onward"]])
def test_the_program_is_a_command(command, scripts, tmp_path):
    program = [scripts / command[0], *command[1:]]
    assert re.match(r"onward \d+\.\d+\.\d+", run(*program, "version", env=ALONE))
    run(*program, "example", "digits", "-o", tmp_path / "digits.onnx", env=ALONE)
    refused = subprocess.run([*program, "show", "nowhere.onnx"], env=ALONE, capture_output=True, text=True)
    assert refused.returncode == 1 and "nowhere.onnx" in refused.stderr  # the program's own exit code


def test_a_folder_of_its_name_does_not_hide_it(scripts, tmp_path):
    (tmp_path / "onward").mkdir()
    (tmp_path / "onward/__init__.py").touch()
    run(scripts / "onward", "version", cwd=tmp_path, env=ALONE)


def test_it_trains(scripts, tmp_path):
    for file in [*(ROOT / "examples").glob("digits-*.npz"), ROOT / "examples/python/train.py"]:
        shutil.copy(file, tmp_path)
    run(scripts / "onward", "example", "digits", "-o", "digits.onnx", cwd=tmp_path, env=ALONE)
    said = run(scripts / "python", "train.py", cwd=tmp_path, env=ALONE)
    told = run(scripts / "onward", "eval", "trained.onnx", "--data", "digits-test.npz", cwd=tmp_path, env=ALONE)
    accuracies = [re.search(r"([0-9.]+) %", text).group(1) for text in (said, told)]
    assert accuracies[0] == accuracies[1] and float(accuracies[0]) > 90
