"""Whatever is wrong with data is one clear error, before or while the training runs, and costs nothing."""

import gzip
import json
import os
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from images_test import bomb, classifier, link, picture
from program import done, equal_bits, onward


@pytest.fixture(scope="module")
def pictures_model(tmp_path_factory):
    return classifier(tmp_path_factory.mktemp("pictures"), ["N", 3, 12, 12])


@pytest.fixture(scope="module")
def table_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    (folder / "net.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,2] features) => (float[N,3] scores) <float[2,3] w = full(0), float[3] b = full(0)>
{ scores = Gemm(features, w, b) }
""")
    done("prepare", folder / "net.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "-o", folder / "net.onnx")
    return folder / "net.onnx"


def images(folder):
    for i in range(8):
        inner = folder / ["blue", "green", "red"][i % 3]
        inner.mkdir(parents=True, exist_ok=True)
        picture(14, 13, i).save(inner / f"{i}.png")
    return folder


def loop(folder):
    (folder / "red/more").symlink_to("..")


def pipe(file):
    file.unlink()
    os.mkfifo(file)


def truncate(file):
    file.write_bytes(file.read_bytes()[:150])


IMAGES = [
    ("cut off", lambda f: truncate(f / "red/2.png"), "cannot read this PNG image"),
    ("empty file", lambda f: (f / "red/2.png").write_bytes(b""), "0 bytes are no image"),
    ("another kind of file", lambda f: (f / "red/2.png").write_text("<html>"), "6 bytes are no image"),
    ("a bomb", lambda f: bomb(f / "red/2.png"), "60000 x 60000 pixels, more than the 178956970 that are read"),
    ("a link out", lambda f: link(f / "red/2.png"), "leads out of the folder"),
    ("a link to nothing", lambda f: ((f / "red/2.png").unlink(), (f / "red/2.png").symlink_to("no")), "leads nowhere"),
    ("a link to a folder", loop, "is a link to a folder"),
    ("a pipe", lambda f: pipe(f / "red/2.png"), "is not a file"),
    ("an unreadable file", lambda f: (f / "red/2.png").rename(f / "red/2.txt") and None, None),
    ("a class without images", lambda f: (f / "gold").mkdir(), "class 'gold' has no images"),
    ("an image without a class", lambda f: (f / "red/2.png").rename(f / "2.png"), "image '2.png' belongs to no class"),
    ("more classes than scores", lambda f: ((f / "gold").mkdir(), picture(3, 3, 0).save(f / "gold/1.png")),
     "the data has 4 classes, but the model's output 'scores' f32[N,3] has scores for 3"),
    ("an empty folder", lambda f: [done_with.unlink() for done_with in f.rglob("*.png")], "class 'blue' has no images"),
]


def errors_of(result):
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith(("warning:", "note:"))]
    assert 1 <= len(lines) <= 6, result.stderr
    return result.stderr


@pytest.mark.parametrize("what, change, message", IMAGES, ids=[row[0] for row in IMAGES])
def test_folders_of_images(pictures_model, tmp_path, what, change, message):
    data = images(tmp_path / "data")
    change(data)
    (tmp_path / "t.onnx").write_bytes(b"of before")
    train = ["train", pictures_model, "--data", data, "--batch-size", 8, "-o", tmp_path / "t.onnx"]
    if message is None:  # no error at all: a file of another name is ignored, with a warning
        assert "warning: 1 file in" in done(*train).stderr
        return
    assert message in errors_of(onward(*train))
    assert (tmp_path / "t.onnx").read_bytes() == b"of before"
    assert not (tmp_path / "t.onnx.checkpoint").exists() or not list((tmp_path / "t.onnx.checkpoint").glob("*.onnx"))


def test_a_folder_without_anything(pictures_model, tmp_path):
    (tmp_path / "data").mkdir()
    result = onward("train", pictures_model, "--data", tmp_path / "data", "-o", tmp_path / "t.onnx")
    assert "the folder has no .npy files, and no folders of images" in errors_of(result)
    result = onward("train", pictures_model, "--data", tmp_path / "nowhere", "-o", tmp_path / "t.onnx")
    assert "there is no file or folder" in errors_of(result)


TABLE = "a,b,label\n1,2,x\n3,4,y\n5,6,z\n7,8,x\n"

TABLES = [
    ("a short row", TABLE.replace("3,4,y", "3,4"), "line 3"),
    ("a long row", TABLE.replace("3,4,y", "3,4,y,z"), "line 3"),
    ("an open quote", TABLE.replace("5,6,z", '5,"6,z'), "line 4"),
    ("no label", TABLE.replace("5,6,z", "5,6,"), "line 4"),
    ("a number that is none", TABLE.replace("5,6,z", "inf,6,z"), "line 4"),
    ("a number that is too large", TABLE.replace("5,6,z", "1e999,6,z"), "line 4"),
    ("no rows", "a,b,label\n", "no rows"),
    ("nothing", "", "empty"),
    ("no column of labels", TABLE.replace("label", "kind"), "label"),
    ("two columns of one name", TABLE.replace("a,b", "a,a"), "'a'"),
    ("more classes than scores", TABLE + "9,9,w\n", "the data has 4 classes, but the model's output"),
    ("more columns than inputs", "c," + TABLE.replace("\n", "\n1,").rstrip("1,") + "\n", "features"),
]


@pytest.mark.parametrize("what, text, message", TABLES, ids=[row[0] for row in TABLES])
def test_tables(table_model, tmp_path, what, text, message):
    (tmp_path / "d.csv").write_text(text)
    result = onward("train", table_model, "--data", tmp_path / "d.csv", "-o", tmp_path / "t.onnx")
    assert message in errors_of(result), result.stderr
    assert not (tmp_path / "t.onnx").exists()


@pytest.mark.parametrize("text, message", [
    (TABLE.replace("5,6,z", "5,6,w"), "'w'"),
    (TABLE.replace("a,b", "a,c"), "'b'"),
    (TABLE.replace("5,6,z", "red,6,z"), "line 4"),
])
def test_tables_of_an_evaluation(table_model, tmp_path, text, message):
    (tmp_path / "d.csv").write_text(TABLE)
    done("train", table_model, "--data", tmp_path / "d.csv", "-o", tmp_path / "t.onnx")
    (tmp_path / "e.csv").write_text(text)
    assert message in errors_of(onward("eval", tmp_path / "t.onnx", "--data", tmp_path / "e.csv"))


def test_what_does_not_fit_is_said_of_the_evaluation(table_model, tmp_path):
    np.savez(tmp_path / "d.npz", features=np.zeros((3, 2), np.float32), label=np.zeros(3, int))
    np.savez(tmp_path / "e.npz", features=np.zeros((3, 4), np.float32), label=np.zeros(3, int))
    result = onward("train", table_model, "--data", tmp_path / "d.npz", "--eval", tmp_path / "e.npz", "-o", tmp_path / "t.onnx")
    assert "does not fit input 'features'" in errors_of(result) and f"in --eval '{tmp_path}/e.npz'" in result.stderr


def zip_bomb(file):
    """An array of 64 GB, as the file says, in some kilobytes."""
    header = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (17179869184,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", header + bytes(10_000_000))


ARRAYS = [
    ("other lengths", lambda f: np.savez(f, features=np.zeros((3, 2), np.float32), label=np.zeros(4, int)), "has 3 examples"),
    ("no examples", lambda f: np.savez(f, features=np.zeros((0, 2), np.float32), label=np.zeros(0, int)), "no examples"),
    ("no labels", lambda f: np.savez(f, features=np.zeros((3, 2), np.float32)), "there is no array 'label'"),
    ("another width", lambda f: np.savez(f, features=np.zeros((3, 5), np.float32), label=np.zeros(3, int)),
     "does not fit input 'features'"),
    ("a label that is no class", lambda f: np.savez(f, features=np.zeros((3, 2), np.float32), label=np.array([0, 7, 1])), "7"),
    ("a negative label", lambda f: np.savez(f, features=np.zeros((3, 2), np.float32), label=np.array([0, -1, 1])), "-1"),
    ("labels that are no integers", lambda f: np.savez(f, features=np.zeros((3, 2), np.float32), label=np.array([0, 0.5, 1])), "0.5"),
    ("NaN", lambda f: np.savez(f, features=np.full((3, 2), np.nan, np.float32), label=np.zeros(3, int)), "the data is not finite"),
    ("texts", lambda f: np.savez(f, features=np.array([["a", "b"]]), label=np.zeros(1, int)), "features"),
    ("objects", lambda f: np.savez(f, features=np.array([{}, 1]), label=np.zeros(2, int)), "features"),
    ("cut off", lambda f: (np.savez(f, features=np.zeros((99, 2), np.float32)), truncate(f)), "d.npz"),
    ("a bomb", zip_bomb, "features"),
    ("no archive", lambda f: f.write_bytes(gzip.compress(b"no")), "d.npz"),
]


@pytest.mark.parametrize("what, make, message", ARRAYS, ids=[row[0] for row in ARRAYS])
def test_arrays(table_model, tmp_path, what, make, message):
    make(tmp_path / "d.npz")
    result = onward("train", table_model, "--data", tmp_path / "d.npz", "-o", tmp_path / "t.onnx")
    assert message in errors_of(result), result.stderr
    assert not (tmp_path / "t.onnx").exists()


def test_one_example_of_a_class_is_trained_on(pictures_model, tmp_path):
    data = images(tmp_path / "data")
    for file in sorted((data / "red").iterdir())[1:]:
        file.unlink()
    result = done("train", pictures_model, "--data", data, "--val-split", 0.4, "-o", tmp_path / "t.onnx")
    assert "note: a class with one example is not held out: 'red'" in result.stderr
    assert "blue 2, green 2, red 1" in result.stdout


def spoil(data):
    truncate(data / "green/4.png")
    (data / "red/5.png").write_bytes(b"")


def test_unreadable_images_are_skipped(pictures_model, tmp_path):
    data = images(tmp_path / "data")
    train = ["train", pictures_model, "--data", data, "--epochs", 3, "--batch-size", 3, "--seed", 2]
    spoil(data)
    result = onward(*train, "-o", tmp_path / "no.onnx")
    assert result.returncode == 1
    result = done(*train, "--skip-unreadable", "--val-split", 0.4, "-o", tmp_path / "skipped.onnx")
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert "cannot read this PNG image" in warnings[0] and "0 bytes are no image" in warnings[1]
    assert warnings[2] == "warning: 2 images were skipped, as they cannot be decoded" and len(warnings) == 3
    assert result.stderr.count("green/4.png") == 1 and result.stderr.count("red/5.png") == 1
    evaluated = done("eval", tmp_path / "skipped.onnx", "--data", data, "--skip-unreadable", "--json")
    assert json.loads(evaluated.stdout)["examples"] == 6
    predicted = done("predict", tmp_path / "skipped.onnx", "--data", data, "--skip-unreadable")
    assert len(predicted.stdout.splitlines()) == 7 and "green/4.png" not in predicted.stdout
    assert "warning: 2 images were skipped" in predicted.stderr
    for name in ("green/4.png", "red/5.png"):
        (data / name).unlink()
    done(*train, "--val-split", 0.4, "-o", tmp_path / "without.onnx")
    assert equal_bits(tmp_path / "skipped.onnx", tmp_path / "without.onnx")


def test_skipping_is_kept_with_the_checkpoint(pictures_model, tmp_path):
    data = images(tmp_path / "data")
    spoil(data)
    train = ["train", pictures_model, "--data", data, "--batch-size", 2]
    done(*train, "--epochs", 3, "--skip-unreadable", "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    done(*train, "--steps", 4, "--skip-unreadable", *kept)
    done(*train, "--epochs", 3, "--resume", *kept)
    assert equal_bits(tmp_path / "whole.onnx", tmp_path / "parts.onnx")
    whole = (data / "green/1.png").read_bytes()
    (data / "green/1.png").write_bytes(bytes(len(whole)))
    result = onward(*train, "--epochs", 4, "--resume", *kept)
    assert "are others than when the checkpoint was made" in errors_of(result)


def test_nothing_is_left(pictures_model, tmp_path):
    data = images(tmp_path / "data")
    for file in data.rglob("*.png"):
        file.write_bytes(b"no")
    result = onward("train", pictures_model, "--data", data, "--skip-unreadable", "-o", tmp_path / "t.onnx")
    assert "none of the 8 images can be read" in errors_of(result)


def test_masks_are_skipped_with_their_images(tmp_path):
    from segmentation_test import network, shapes

    data = shapes(tmp_path / "data", 6, 0)
    model = network(tmp_path, 24, 24, classes=3)
    (data / "masks/02.png").write_bytes((data / "masks/02.png").read_bytes()[:60])
    (data / "images/04.png").write_bytes(zlib.compress(b"no"))
    train = ["train", model, "--data", data, "--batch-size", 2]
    result = done(*train, "--skip-unreadable", "-o", tmp_path / "skipped.onnx")
    assert "masks/02.png" in result.stderr and "images/04.png" in result.stderr
    for name in ("images/02.png", "masks/02.png", "images/04.png", "masks/04.png"):
        (data / name).unlink()
    done(*train, "-o", tmp_path / "without.onnx")
    assert equal_bits(tmp_path / "skipped.onnx", tmp_path / "without.onnx")
    Image.fromarray(np.full((24, 24), 9, np.uint8)).save(data / "masks/01.png")
    assert "is 9, but the model tells classes 0 to 2" in errors_of(onward(*train, "--skip-unreadable", "-o", tmp_path / "t.onnx"))
