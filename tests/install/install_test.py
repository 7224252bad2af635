"""An installed tree stands alone: the program runs, and find_package(onward) lets another project build the C++
example against it, which trains. Nothing in it leads back to the build or to the cache."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ONWARD"]).parent


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--prefix", folder, "--component", "onward")
    return folder


def test_the_program_runs_by_itself(prefix, tmp_path):
    dynamic = run("readelf", "-d", prefix / "bin/onward")
    assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) == ["$ORIGIN/../lib"]
    environment = {"PATH": "/usr/bin:/bin"}
    libraries = run("ldd", prefix / "bin/onward", env=environment)
    assert f"{prefix}/bin/../lib/libdnnl.so.3" in libraries
    assert "not found" not in libraries
    run(prefix / "bin/onward", "example", "digits", "-o", tmp_path / "digits.onnx", env=environment)


def test_find_package_builds_a_program_that_trains(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", ROOT / "examples/cpp", "-B", tmp_path / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", tmp_path / "build")
    run(prefix / "bin/onward", "example", "digits", "-o", tmp_path / "digits.onnx")
    said = run(tmp_path / "build/train", tmp_path / "digits.onnx", ROOT / "examples/digits-train.npz",
               tmp_path / "trained.onnx")
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", said)]
    assert len(losses) == 3 and losses[-1] < 0.5 * losses[0]
    said = run(prefix / "bin/onward", "eval", tmp_path / "trained.onnx", "--data",
               ROOT / "examples/digits-test.npz")
    assert float(re.search(r"accuracy ([0-9.]+) %", said).group(1)) > 90


def test_no_header_is_missing_and_none_shows_protobuf(prefix):
    shown = "".join(file.read_text() for file in (prefix / "include").rglob("*.h"))
    assert not re.search(r"#include <(onnx|google|oneapi|dnnl|cblas|fmt|nlohmann)", shown)
