#!/usr/bin/env python3
"""Writes the digits of an .npz file as pictures, one folder for each class: digits_as_pictures.py digits-train.npz FOLDER.
It needs nothing but Python's own library, and stands in for the pictures that you have."""

import ast
import math
import pathlib
import struct
import sys
import zipfile
import zlib


def read(archive, name):
    """The numbers of an array, and its shape."""
    content = archive.read(f"{name}.npy")
    begin = 10 + struct.unpack_from("<H", content, 8)[0]
    header = ast.literal_eval(content[10:begin].decode())
    kind = {"<f4": "f", "<i8": "q"}[header["descr"]]
    return struct.unpack(f"<{math.prod(header['shape'])}{kind}", content[begin:]), header["shape"]


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(rows):
    """A gray picture."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def main():
    source, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    with zipfile.ZipFile(source) as archive:
        values, (count, _, height, width) = read(archive, "image")
        classes, _ = read(archive, "label")
    largest = max(values)
    for number in range(count):
        first = number * height * width
        rows = [[round(255 * value / largest) for value in values[first + y * width:first + (y + 1) * width]]
                for y in range(height)]
        file = folder / str(classes[number]) / f"{number:04}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png(rows))
    print(f"{folder}: {count} pictures of {len(set(classes))} classes")


main()
