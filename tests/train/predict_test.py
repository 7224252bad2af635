"""`onward predict`: a line for each image or row."""

import csv
import io
import json

import numpy as np
import onnx
import pytest

from images_test import CLASSES, all_images, array_of, images, model, picture  # noqa: F401
from program import done, onward


@pytest.fixture(scope="module")
def trained(model, all_images, tmp_path_factory):  # noqa: F811
    file = tmp_path_factory.mktemp("trained") / "t.onnx"
    done("train", model, "--data", all_images, "--mean", 0.5, "-o", file, "--inference")
    return file


def expected(trained, folder, tmp_path):
    """Name and scores of each image, by way of arrays."""
    x, _ = array_of(folder, (12, 12), mean=0.5)
    np.savez(tmp_path / "d.npz", pixels=x.transpose(0, 3, 1, 2))
    done("run", trained, "--input", tmp_path / "d.npz", "-o", tmp_path / "outputs")
    return [str(file.relative_to(folder)) for file in sorted(folder.glob("*/*"))], np.load(tmp_path / "outputs/scores.npy")


def test_images(trained, images, tmp_path):  # noqa: F811
    names, scores = expected(trained, images, tmp_path)
    done("predict", trained, "--data", images, "-o", tmp_path / "p.csv", "--scores", "--batch-size", 4)
    rows = list(csv.DictReader((tmp_path / "p.csv").open()))
    assert [row["image"] for row in rows] == names
    assert [row["class"] for row in rows] == [CLASSES[best] for best in scores.argmax(1)]
    found = np.array([[row[f"score of {name}"] for name in CLASSES] for row in rows], np.float32)
    assert np.array_equal(found, scores) and np.array_equal([np.float32(row["score"]) for row in rows], scores.max(1))
    # Images of no class, in no order of folders, and one alone.
    (images / "blue/03.png").rename(images / "03.png")
    lines = [json.loads(line) for line in done("predict", trained, "--data", images, "--json").stdout.splitlines()]
    by_name = {line["image"]: line["class"] for line in lines}
    at = names.index("blue/03.png")
    assert len(by_name) == len(names) and by_name["03.png"] == CLASSES[scores[at].argmax()]
    alone = done("predict", trained, "--data", images / "03.png").stdout
    assert alone.splitlines()[1].split(",")[:2] == ["03.png", by_name["03.png"]]


def test_values_and_a_fixed_batch(tmp_path):
    (tmp_path / "m.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,2] x) => (float[4,2] y, int64[4] "n,m")
{
  y = Neg(x)
  axis = Constant<value = int64 {1}>()
  "n,m" = ArgMax<axis = 1, keepdims = 0>(x)
}
""".replace('"n,m"', "n"))
    (tmp_path / "d.csv").write_text("a,b\n1,2\n0.1,-3\n1e30,5\n3,4\n7,8\n")
    text = done("predict", tmp_path / "m.onnxtxt", "--data", tmp_path / "d.csv").stdout
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[:4] == [["row", "n", "y[0]", "y[1]"], ["1", "1", "-1.0", "-2.0"], ["2", "0", "-0.1", "3.0"],
                        ["3", "0", "-1e+30", "-5.0"]] and len(rows) == 6


@pytest.mark.parametrize("change, message", [
    (lambda f: (f / "red/02.png").write_text("<html>"), "red/02.png': repair it"),
    (lambda f: [file.unlink() for file in f.glob("*/*")], "the folder has no images"),
])
def test_refusals(trained, images, tmp_path, change, message):  # noqa: F811
    change(images)
    result = onward("predict", trained, "--data", images, "-o", tmp_path / "p.csv")
    assert result.returncode == 1 and message in result.stderr and not (tmp_path / "p.csv").exists()


def test_other_numbers_of_classes_are_refused(trained, all_images, tmp_path):  # noqa: F811
    changed = onnx.load(trained)
    for entry in changed.metadata_props:
        if entry.key == "onward.classes":
            entry.value = '["a","b"]'
    onnx.save(changed, tmp_path / "c.onnx")
    result = onward("predict", tmp_path / "c.onnx", "--data", all_images)
    assert result.returncode == 1 and "3 scores for each example, but the model's metadata names 2 classes" in result.stderr
