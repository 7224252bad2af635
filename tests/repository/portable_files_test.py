"""No file of the repository depends on one machine: no path of a home folder or of this clone, and
no host of a package registry, which each machine configures for itself."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Written in pieces, so that this file passes its own test.
REGISTRIES = ["pypi" + ".org", "pythonhosted" + ".org", "deb.debian" + ".org",
              "registry.npmjs" + ".org", "download.pytorch" + ".org", "pkg" + ".dev/"]
MACHINE_PATHS = ["/" + "root/", "/" + "home/", "/" + "work/", "/" + "Users/", "/" + "mnt/"]
# A path begins the text, or follows what can't be a part of one: not "src/work/", not "$HOME/root/".
FOREIGN = re.compile("|".join([re.escape(host) for host in REGISTRIES] +
                              [r"(?<![\w.}~*)-])" + re.escape(path) for path in MACHINE_PATHS]))


def problems(name, text):
    # As a pattern too long to be another word, the clone's own path counts wherever it stands.
    own_path = str(ROOT) if len(str(ROOT)) > 8 else None
    found = [match.group() for match in FOREIGN.finditer(text)]
    if own_path and own_path in text:
        found.append(own_path)
    return [f"{name}: {word}" for word in found]


def files():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name]
    assert "Makefile" in names
    return [name for name in names if (ROOT / name).is_file()]


def test_files_name_no_machine():
    found = []
    for name in files():
        text = (ROOT / name).read_bytes().decode("latin-1")  # also of binary files
        found += problems(name, text)
    assert found == []


@pytest.mark.parametrize("text", [
    "index-url = https://" + "pypi" + ".org/simple",
    "path = '/" + "home/ada/onward'",
    "cd /" + "work/main",
])
def test_foreign_text_is_refused(text):
    assert problems("file", text) != []


def test_ordinary_text_passes():
    assert problems("file", "cd src/work/ && ls $HOME/root/ /usr/include http://apache.org") == []
