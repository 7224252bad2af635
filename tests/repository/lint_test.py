"""Python reads without complaints: ruff and mypy, by the settings in pyproject.toml."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_ruff_has_no_complaints():
    ruff = pathlib.Path(sys.executable).parent / "ruff"
    done = subprocess.run([ruff, "check", "--quiet", "--no-cache", ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_has_no_complaints(tmp_path):
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
