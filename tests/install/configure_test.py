"""Configuring a build installs nothing: it looks, and says what is missing and how to get it."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def configure(tmp_path):
    """Configures with an empty cache; whoever is asked for more rights leaves a trace."""
    for name in ("sudo", "apt-get"):
        trap = tmp_path / "bin" / name
        trap.parent.mkdir(exist_ok=True)
        trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\nexit 1\n")
        trap.chmod(0o755)

    def run(*options):
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "build", *options],
                              env=environment, capture_output=True, text=True)
        assert not (tmp_path / "called").exists()
        assert not list(tmp_path.glob("cache/onward/*"))
        return done
    return run


def test_without_leave_to_fetch_it_lists_what_is_missing(configure):
    done = configure("-DONWARD_FETCH=OFF")
    assert done.returncode != 0
    for part in ("missing:", "third-party", "re2", "onednn", "Python environment 'tests'", "tools/setup.py tests"):
        assert part in done.stderr, done.stderr


def test_what_is_found_is_not_missing(configure):
    done = configure("-DONWARD_FETCH=OFF", "-DONWARD_TESTS=OFF", f"-Ddnnl_DIR={os.environ['ONWARD_ONEDNN']}/lib/cmake/dnnl")
    assert done.returncode != 0
    assert "third-party" in done.stderr and "onednn" not in done.stderr and "tests" not in done.stderr, done.stderr
