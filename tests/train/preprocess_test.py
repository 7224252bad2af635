"""--preprocess: a model makes the input of each image, in the training and wherever its result is used."""

import json

import numpy as np
import onnx
import pytest
from PIL import Image

from images_test import classifier, folder_of_images, metadata
from program import done, equal_bits, onward

HEADER = '<ir_version: 10, opset_import: ["" : 22]>\n'

# What Onward does itself with images that have the size of the input already.
PIXELS = HEADER + """
prepare (uint8[H,W,3] pixels) => (float[3,12,12] image)
{
  numbers = Cast <to = 11> (pixels)
  scale = Constant <value = double {0.00392156862745098}> ()
  scaled = Mul (numbers, scale)
  single = Cast <to = 1> (scaled)
  image = Transpose <perm = [2, 0, 1]> (single)
}
"""

# Of any size, from the bytes of the file.
FILES = HEADER + """
prepare (uint8[length] file) => (float[1,3,12,12] image)
{
  pixels = ImageDecoder <pixel_format = "RGB"> (file)
  numbers = Cast <to = 1> (pixels)
  sizes = Constant <value_ints = [12, 12, 3]> ()
  resized = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (numbers, , , sizes)
  scale = Constant <value_float = 0.01> ()
  scaled = Mul (resized, scale)
  turned = Transpose <perm = [2, 0, 1]> (scaled)
  first = Constant <value_ints = [0]> ()
  image = Unsqueeze (turned, first)
}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return classifier(tmp_path_factory.mktemp("model"), ["N", 3, 12, 12])


@pytest.fixture
def images(tmp_path):
    for i in range(7):
        file = tmp_path / f"images/{['blue', 'green', 'red'][i % 3]}/{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        samples = np.random.default_rng(i).integers(0, 255, (12, 12, 3))
        Image.fromarray(samples.astype(np.uint8)).save(file)
    return tmp_path / "images"


def test_pixels(model, images, tmp_path):
    (tmp_path / "p.onnxtxt").write_text(PIXELS)
    train = ["train", model, "--data", images, "--epochs", 2, "--batch-size", 3]
    done(*train, "-o", tmp_path / "plain.onnx")
    done(*train, "--preprocess", tmp_path / "p.onnxtxt", "--eval", images, "-o", tmp_path / "prepared.onnx")
    assert equal_bits(tmp_path / "plain.onnx", tmp_path / "prepared.onnx")
    assert "onward.preprocess" in metadata(tmp_path / "prepared.onnx")
    (tmp_path / "p.onnxtxt").unlink()
    plain, prepared = (json.loads(done("eval", tmp_path / file, "--data", images, "--json").stdout)
                       for file in ("plain.onnx", "prepared.onnx"))
    assert plain["loss"] == prepared["loss"]
    said = [done("predict", tmp_path / file, "--data", images).stdout for file in ("plain.onnx", "prepared.onnx")]
    assert said[0] == said[1] and len(said[0].splitlines()) == 8


def test_files_of_any_size(model, tmp_path):
    images = folder_of_images(tmp_path / "images")
    (tmp_path / "p.onnxtxt").write_text(FILES)
    train = ["train", model, "--data", images, "--batch-size", 4, "--preprocess", tmp_path / "p.onnxtxt"]
    done(*train, "--epochs", 3, "--threads", 2, "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    done(*train, "--steps", 4, "--threads", 2, *kept)
    done(*train, "--epochs", 3, *kept, "--resume")
    assert equal_bits(tmp_path / "whole.onnx", tmp_path / "parts.onnx")
    (tmp_path / "p.onnxtxt").write_text(FILES.replace("0.01", "0.02"))
    result = onward(*train, "--epochs", 4, *kept, "--resume")
    assert result.returncode == 1 and "differs from the data that the checkpoint was trained on" in result.stderr


def large(folder):
    weights = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [400000], np.zeros(400000))
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info("x", 2, ["n"])],
                                   [onnx.helper.make_tensor_value_info("y", 1, None)], [weights])
    onnx.save(onnx.helper.make_model(graph), folder / "large.onnx")


@pytest.mark.parametrize("text, options, message", [
    ("p (int64[N] x) => (int64[N] y) { y = Abs(x) }", [], "its input is i64[N]: a preprocessing model takes pixels u8[H,W,3]"),
    ("p (uint8[H,W,3] x, float a) => (float y) { y = Abs(a) }", [], "it has 2 inputs and 1 outputs"),
    ("p (uint8[H,W,3] x) => (float[H,W,3] y) { y = Cast<to = 1>(x) }", [],
     "the preprocessing model gives f32[12,12,3] for an image, but the input takes f32[N,3,12,12]"),
    ("p (uint8[n] x) => (uint8[n] y) { y = Abs(x) }", [], "but the input takes f32[N,3,12,12]"),
    (PIXELS, ["--mean", 0.5], "a preprocessing model is in place of --image-size, --resize, --scale, --mean and --std"),
    (PIXELS, ["--augment", "flip"], "images are augmented before --mean and --std"),
    ("p (uint8[n] x) => (float[3,12,12] y) { i = ImageDecoder(x) s = Constant<value_ints = [3, 12, 13]>() r = Reshape(i, s) y = Cast<to = 1>(r) }",
     [], "in the preprocessing of image"),
    (None, [], "but is kept with the trained model"),
])
def test_refusals(model, images, tmp_path, text, options, message):
    if text:
        (tmp_path / "p.onnxtxt").write_text(text if text.startswith("<") else HEADER + text + "\n")
    else:
        large(tmp_path)
    file = tmp_path / ("p.onnxtxt" if text else "large.onnx")
    result = onward("train", model, "--data", images, "--preprocess", file, *options, "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert not (tmp_path / "t.onnx").exists()


def test_a_damaged_record_is_named(model, images, tmp_path):
    trained = onnx.load(model)
    trained.metadata_props.add(key="onward.preprocess", value="no*")
    onnx.save(trained, tmp_path / "damaged.onnx")
    result = onward("eval", tmp_path / "damaged.onnx", "--data", images)
    assert result.returncode == 1 and "it is not in base64" in result.stderr and "onward.preprocess" in result.stderr


ROWS = HEADER + """
prepare (float[K] row) => (float[1,3] features)
{
  squares = Mul (row, row)
  sum = ReduceSum <keepdims = 1> (squares)
  both = Concat <axis = 0> (row, sum)
  first = Constant <value_ints = [0]> ()
  features = Unsqueeze (both, first)
}
"""


def test_rows_of_a_table(images, tmp_path):
    (tmp_path / "net.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,3] features) => (float[N,2] scores) <float[3,2] w = full(0), float[2] b = full(0)>
{ scores = Gemm(features, w, b) }
""")
    done("prepare", tmp_path / "net.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "-o", tmp_path / "net.onnx")
    values = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    label = ((values ** 2).sum(1) > 1).astype(int)
    rows = [f"{a!r},{b!r},{'in' if c else 'out'}" for (a, b), c in zip(values.tolist(), label)]
    (tmp_path / "d.csv").write_text("\n".join(["x,y,label", *rows]) + "\n")
    (tmp_path / "p.onnxtxt").write_text(ROWS)
    train = ["train", tmp_path / "net.onnx", "--batch-size", 5, "--epochs", 2, "--data"]
    done(*train, tmp_path / "d.csv", "--preprocess", tmp_path / "p.onnxtxt", "-o", tmp_path / "rows.onnx")
    squares = values * values
    features = np.column_stack([values, squares[:, 0] + squares[:, 1]])
    np.savez(tmp_path / "d.npz", features=features, label=1 - label)
    done(*train, tmp_path / "d.npz", "-o", tmp_path / "arrays.onnx")
    assert equal_bits(tmp_path / "rows.onnx", tmp_path / "arrays.onnx")
    found = [json.loads(done("eval", tmp_path / "rows.onnx", "--data", tmp_path / file, "--json").stdout)["loss"]
             for file in ("d.csv", "d.npz")]
    assert found[0] == found[1]
    assert len(done("predict", tmp_path / "rows.onnx", "--data", tmp_path / "d.csv").stdout.splitlines()) == 21
    refused = [(tmp_path / "d.npz", ROWS, "arrays are fed as they are"), (tmp_path / "d.csv", PIXELS, "but the data is a table"),
               (images, ROWS, "takes rows f32[K], but the data has images")]
    for data, text, message in refused:
        (tmp_path / "p.onnxtxt").write_text(text)
        result = onward(*train, data, "--preprocess", tmp_path / "p.onnxtxt", "-o", tmp_path / "no.onnx")
        assert result.returncode == 1 and message in result.stderr, result.stderr
