"""What NumPy writes is read, and what Onward writes NumPy reads: every type, order and container."""

import gzip
import os
import pathlib
import subprocess

import numpy as np
import pytest

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "complex64", "complex128"]
SHAPES = [(3,), (1,), (3, 4), (2, 3, 4), (3, 0), (2, 1, 1, 5)]


def array_tool(where, out, *more):
    tool = pathlib.Path(os.environ["ONWARD_TOOLS"]) / "array_tool"
    return subprocess.run([tool, str(where), out, *more], capture_output=True, text=True)


def passed_through(where, folder, *more):
    out = folder / "out.npz"
    result = array_tool(where, out, *more)
    assert result.returncode == 0, result.stderr
    with np.load(out) as arrays:
        return dict(arrays)


def example(dtype, shape, order="C"):
    random = np.random.default_rng(len(shape))
    if dtype == "bool":
        array = random.integers(0, 2, shape).astype(bool)
    elif np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        array = random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    else:
        array = random.normal(size=shape).astype(dtype)
        if np.dtype(dtype).kind == "c":
            array += 1j * random.normal(size=shape).astype(dtype)
    return np.asarray(array, order=order)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_pass_through(tmp_path, dtype, order):
    for shape in SHAPES:
        arrays = {"a": example(dtype, shape, order), "scalar": np.array(1, dtype)}
        for save in (np.savez, np.savez_compressed):
            save(tmp_path / "in.npz", **arrays)
            for more in ([], ["compressed"]):
                read = passed_through(tmp_path / "in.npz", tmp_path, *more)
                assert read.keys() == arrays.keys()
                for name, array in arrays.items():
                    assert read[name].dtype == array.dtype and read[name].shape == array.shape
                    assert np.array_equal(read[name], array)


def test_text_passes_through(tmp_path):
    np.savez(tmp_path / "in.npz", u=np.array(["über", "", "日本", "😀"]), s=np.array([b"ab", b"", b"c", b"d"]))
    read = passed_through(tmp_path / "in.npz", tmp_path)
    assert [text.decode() for text in read["u"]] == ["über", "", "日本", "😀"]
    assert read["s"].tolist() == [b"ab", b"", b"c", b"d"]


def test_a_folder_is_read(tmp_path):
    folder = tmp_path / "arrays"
    folder.mkdir()
    np.save(folder / "x.npy", np.arange(6.0).reshape(3, 2))
    np.save(folder / "conv1.weight.npy", np.arange(3))
    (folder / "notes.txt").write_text("not data")
    read = passed_through(folder, tmp_path)
    assert sorted(read) == ["conv1.weight", "x"]
    assert np.array_equal(read["x"], np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(tmp_path, version):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(5, dtype=np.float32), version=version)
    assert np.array_equal(passed_through(tmp_path / "x.npy", tmp_path)["x"], np.arange(5))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("names", ["{}-images-idx3-ubyte", "{}-images.idx3-ubyte"])
def test_mnist(tmp_path, packed, names):
    random = np.random.default_rng(0)
    image, label = random.integers(0, 256, (5, 28, 28), np.uint8), random.integers(0, 10, 5, np.uint8)
    opened, suffix = (gzip.open, ".gz") if packed else (open, "")
    images = names.format("t10k")
    labels = images.replace("images", "labels").replace("idx3", "idx1")
    with opened(tmp_path / (images + suffix), "wb") as file:
        file.write(bytes([0, 0, 8, 3]) + np.array(image.shape, ">i4").tobytes() + image.tobytes())
    with opened(tmp_path / (labels + suffix), "wb") as file:
        file.write(bytes([0, 0, 8, 1]) + np.array(label.shape, ">i4").tobytes() + label.tobytes())
    read = passed_through(f"mnist-test:{tmp_path}", tmp_path)
    assert np.array_equal(read["image"], (image[:, None] / np.float32(255)).astype(np.float32))
    assert read["label"].dtype == np.int64 and np.array_equal(read["label"], label)


@pytest.mark.parametrize("array, message", [
    (np.array([{}], object), "Python objects"),
    (np.array([1.0], ">f8"), "newbyteorder"),
    (np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")]), "named fields"),
    (np.array(["2020-01-01"], "M8[D]"), "no counterpart"),
])
def test_refusals(tmp_path, array, message):
    np.savez(tmp_path / "in.npz", ok=np.arange(1), bad=array)
    result = array_tool(tmp_path / "in.npz", tmp_path / "out.npz")
    assert result.returncode == 1 and message in result.stderr and "bad.npy" in result.stderr
    assert not (tmp_path / "out.npz").exists()


def test_the_fingerprint_does_not_depend_on_the_container(tmp_path):
    x = example("float32", (7, 3))
    np.savez(tmp_path / "a.npz", x=x)
    np.savez_compressed(tmp_path / "b.npz", x=np.asarray(x, order="F"))
    np.save(tmp_path / "x.npy", x)
    prints = {array_tool(tmp_path / name, tmp_path / "out.npz").stdout
              for name in ("a.npz", "b.npz", "x.npy")}
    assert len(prints) == 1 and prints.pop().startswith("x f32[7,3] ")
