"""The tarball of `make dist` has program, library, headers and the licences of all that is inside, and runs by itself."""

import os
import pathlib
import re
import subprocess
import tarfile

import pytest

from notices import require_all_parts

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ONWARD"]).parent
ALONE = {"PATH": "/usr/bin:/bin"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    [path] = run("tools/setup.py", "build", "tools/dist.sh", BUILD, tmp_path_factory.mktemp("made"), cwd=ROOT).splitlines()
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    [tree] = folder.iterdir()
    assert tree.name + ".tar.gz" == pathlib.Path(path).name
    return tree


def test_program_and_library_have_their_libraries_beside_them(tree):
    assert re.match(r"onward \d", run(tree / "bin/onward", "version", env=ALONE))
    [library] = tree.glob("lib/libonward.so.*.*.*")
    for file in (tree / "bin/onward", library):
        libraries = run("ldd", file, env=ALONE)
        for name in ("libdnnl.so.3", "libgomp.so.1", "libjpeg.so.62", "libpng16.so.16"):
            assert re.search(rf"{re.escape(name)} => {re.escape(str(tree))}/", libraries), libraries


def test_licences_of_all_parts_are_inside(tree):
    assert (tree / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    require_all_parts((tree / "NOTICES").read_text())
