#!/usr/bin/env python3
"""Makes examples/digits-train.npz and examples/digits-test.npz from scikit-learn's 8x8 digits.

    python3 tools/make_digits.py          needs numpy and scikit-learn

1797 images of handwritten digits (UCI ML Repository, Optical Recognition of Handwritten Digits): `image`
f32[N,1,8,8] in sixteenths from 0 to 1, and `label` i64[N]. Every fifth goes into the test set.
"""

import pathlib

import numpy as np
from sklearn.datasets import load_digits

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples"


def main():
    digits = load_digits()
    image = (digits.images / 16).astype(np.float32)[:, None]
    assert np.array_equal(image[:, 0] * 16, digits.images)  # sixteenths are exact
    label = digits.target.astype(np.int64)
    is_test = np.arange(len(label)) % 5 == 4
    for name, rows in (("train", ~is_test), ("test", is_test)):
        file = FOLDER / f"digits-{name}.npz"
        np.savez_compressed(file, image=image[rows], label=label[rows])
        print(f"{file.name}: {rows.sum()} examples, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
