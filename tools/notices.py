#!/usr/bin/env python3
"""Writes the licences of all that is inside of Onward's library, program and wheel: tools/notices.py FILE

The texts are those that came with the parts: Debian's copyright files, and what tools/setup.py keeps in the cache."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEBIAN = {  # the package that has the text: what is inside
    "protobuf-compiler": "protobuf",
    "libblis-openmp-dev": "BLIS",
    "libfmt-dev": "{fmt}",
    "nlohmann-json3-dev": "JSON for Modern C++",
    "libcli11-dev": "CLI11, in the program",
    "libjpeg62-turbo-dev": "libjpeg-turbo",
    "libpng-dev": "libpng",
    "libwebp-dev": "libwebp",
    "zlib1g-dev": "zlib",
    "libgomp1": "libgomp and the standard library of GCC",
}


def parts():
    yield "ONNX (Apache License 2.0, Copyright (c) ONNX Project Contributors)", ROOT / "LICENSE"
    onednn = pathlib.Path(os.environ["ONWARD_ONEDNN"]) / "share/doc/onednn"
    yield "oneDNN", onednn / "LICENSE"
    yield "oneDNN's own parts", onednn / "THIRD-PARTY-PROGRAMS"
    yield "RE2", pathlib.Path(os.environ["ONWARD_RE2"]) / "share/doc/re2/LICENSE"
    [nanobind] = pathlib.Path(os.environ["ONWARD_TOOLS"]).glob("lib/python3*/site-packages/nanobind-*.dist-info")
    yield "nanobind, in the Python module", nanobind / "licenses/LICENSE"
    for package, name in DEBIAN.items():
        yield name, pathlib.Path("/usr/share/doc") / package / "copyright"


def main():
    text = "Onward is under the Apache License 2.0 (LICENSE). Inside of it are parts of others, under their own licences:\n"
    for name, file in parts():
        text += f"\n{'=' * 100}\n{name}\n{'=' * 100}\n\n{file.read_text()}"
    pathlib.Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
