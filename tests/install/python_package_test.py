"""`make -s python` says which Python imports the package, and the package stands alone: it trains, has its type
stubs, and leads back neither to the build nor to the cache."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Nothing of the test's own surroundings helps.
ALONE = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]}
# The same compiler and flags as those of the tests' own build, so that the compiler's cache has it all.
BUILD = {"JOBS": str(os.cpu_count()),
         "SKBUILD_CMAKE_DEFINE": "CMAKE_COMPILE_WARNING_AS_ERROR=ON"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python():
    said = run("make", "-s", "python", cwd=ROOT, env=os.environ | BUILD)
    [path] = said.splitlines()
    return path


@pytest.fixture(scope="module")
def package(python, tmp_path_factory):
    program = "import onward; print(onward.__file__)"
    return pathlib.Path(run(python, "-c", program, cwd=tmp_path_factory.mktemp("elsewhere"), env=ALONE).strip()).parent


def test_the_example_trains(python, tmp_path):
    run(os.environ["ONWARD"], "example", "digits", "-o", tmp_path / "digits.onnx")
    for file in (ROOT / "examples").glob("digits-*.npz"):
        shutil.copy(file, tmp_path)
    said = run(python, ROOT / "examples/python/train.py", cwd=tmp_path, env=ALONE)
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", said)]
    assert len(losses) == 4 and losses[-1] < 0.2 * losses[0]
    assert float(re.search(r"([0-9.]+) %", said).group(1)) > 90
    assert "valid" in run(os.environ["ONWARD"], "check", tmp_path / "trained.onnx")


def test_it_stands_alone(package):
    assert ROOT / "build/python" in package.parents
    [module] = package.glob("_core*.so")
    libraries = run("ldd", module, env=ALONE)
    assert str(package / "libdnnl.so.3") in libraries and "not found" not in libraries
    assert not [file for file in package.rglob("*") if file.is_symlink()]


def test_types_are_known(package):
    assert (package / "py.typed").exists()
    assert "class Trainer" in (package / "_core.pyi").read_text()


def test_all_of_it_is_there(package):
    assert {file.name for file in package.glob("*.py")} == {file.name for file in (ROOT / "python/onward").glob("*.py")}
