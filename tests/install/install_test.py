"""An installed tree stands alone: the program runs, and find_package(onward) lets other projects build the C and the C++
example against it, which train. Nothing in it leads back to the build or to the cache, and the library shows nothing
but its own functions, so that a program may have another protobuf."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ONWARD"]).parent
ALONE = {"PATH": "/usr/bin:/bin"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--prefix", folder, "--component", "onward")
    return folder


def build(project, prefix, folder, *options):
    run("cmake", "-G", "Ninja", "-S", project, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run("cmake", "--build", folder)


def test_the_program_runs_by_itself(prefix, tmp_path):
    dynamic = run("readelf", "-d", prefix / "bin/onward")
    assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) == ["$ORIGIN/../lib"]
    libraries = run("ldd", prefix / "bin/onward", env=ALONE)
    assert f"{prefix}/bin/../lib/libdnnl.so.3" in libraries
    assert "not found" not in libraries
    run(prefix / "bin/onward", "example", "digits", "-o", tmp_path / "digits.onnx", env=ALONE)


@pytest.mark.parametrize("language, options", [
    ("cpp", ["-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror"]),
    ("c", ["-DCMAKE_C_FLAGS=-Wall -Wextra -pedantic -Werror"]),
])
def test_find_package_builds_a_program_that_trains(language, options, prefix, tmp_path):
    build(ROOT / "examples" / language, prefix, tmp_path / "build", *options)
    run(prefix / "bin/onward", "example", "digits", "-o", tmp_path / "digits.onnx")
    said = run(tmp_path / "build/train", tmp_path / "digits.onnx", ROOT / "examples/digits-train.npz",
               tmp_path / "trained.onnx", env=ALONE)
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", said)]
    assert len(losses) == 3 and losses[-1] < 0.5 * losses[0]
    said = run(prefix / "bin/onward", "eval", tmp_path / "trained.onnx", "--data",
               ROOT / "examples/digits-test.npz")
    assert float(re.search(r"accuracy ([0-9.]+) %", said).group(1)) > 90


def test_the_compiler_alone_will_do(prefix, tmp_path):
    run("gcc", "-std=c11", "-pedantic", "-Werror", ROOT / "examples/c/train.c", f"-I{prefix}/include",
        f"-L{prefix}/lib", "-lonward", f"-Wl,-rpath,{prefix}/lib", "-o", tmp_path / "train")
    refused = subprocess.run([tmp_path / "train", "nowhere.onnx", "-", "-"], capture_output=True, text=True, env=ALONE)
    assert refused.returncode == 1
    assert re.match(r"error 4: 'nowhere.onnx': No such file", refused.stderr), refused.stderr


def test_a_program_may_have_another_protobuf(prefix, tmp_path):
    build(ROOT / "tests/install/other_protobuf", prefix, tmp_path / "build")
    run(prefix / "bin/onward", "example", "digits", "-o", tmp_path / "digits.onnx")
    libraries = run("ldd", tmp_path / "build/main", env=ALONE)
    assert "libprotobuf.so" in libraries and "libonward.so" in libraries
    said = run(tmp_path / "build/main", tmp_path / "digits.onnx", env=ALONE)
    assert re.match(r"parsed, 100 numbers of Greeting, protobuf 3\d+; 1 outputs\n", said), said


def test_the_library_shows_its_own_functions_alone(prefix):
    [library] = prefix.glob("lib/libonward.so.*.*.*")
    dynamic = run("readelf", "-d", library)
    assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) == ["$ORIGIN"]
    shown = [line.split(maxsplit=2)[2] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
    other = [name for name in shown if not re.match(r"(onward_|onward::api::|(typeinfo( name)? for |vtable for )?onward::(Error|Bug)\b)", name)]
    assert other == []
    for name in ("onward_load", "onward::api::load", "onward::api::Trainer::step", "typeinfo for onward::Error"):
        assert any(each.startswith(name) for each in shown), name


def test_every_function_of_the_headers_is_in_the_library(prefix):
    header = (prefix / "include/onward/onward_c.h").read_text()
    declared = set(re.findall(r"ONWARD_C_API [\w\s*]*?\b(onward_\w+)\(", header))
    shown = set(re.findall(r" T (onward_\w+)", run("nm", "-D", "--defined-only", prefix / "lib/libonward.so")))
    assert declared == shown and len(declared) > 20


def test_headers_stand_alone(prefix, tmp_path):
    headers = sorted((prefix / "include").rglob("*.h"))
    names = [str(header.relative_to(prefix / "include")) for header in headers]
    assert [name for name in names if not name.startswith("onward/") or name.count("/") > 1] == []
    for name in names:
        source = tmp_path / "one.cpp"
        source.write_text(f"#include <{name}>\n")
        run("g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", source)
    shown = "".join(header.read_text() for header in headers)
    assert not re.search(r"#include <(onnx|google|oneapi|dnnl|cblas|fmt|nlohmann)", shown)
