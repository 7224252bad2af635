"""The functions of --augment against their formulas in NumPy, and trainings with them."""

import json
import os
import pathlib
import re

import numpy as np
import pytest
from PIL import Image

from program import done, equal_bits, onward
from segmentation_test import network, shapes

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "examples/augmentation/augment.onnxtxt").read_text()
FUNCTIONS = TEXT[TEXT.index("\n<domain:"):]


def with_given_numbers(name, attributes, count, image, mask, folder):
    """A model that calls one function, whose random numbers are an input."""
    start = FUNCTIONS.index(f"\n{name} <")
    function = FUNCTIONS[FUNCTIONS.rindex("<domain:", 0, start):FUNCTIONS.index("\n}\n", start) + 3]
    function, draws = re.subn(r"\n  u = RandomUniform <[^>]*> \(\)", "", function)
    assert draws == 1
    function = function.replace("(image, mask) =>", "(image, mask, u) =>")
    b, c, h, w = image.shape
    file = folder / f"{name}.onnxtxt"
    file.write_text(f"""
<ir_version: 10, opset_import: ["" : 22, "augment" : 1]>
one (float[1,{c},{h},{w}] image, int64[1,1,{h},{w}] mask, float[{count}] u) => (float[1,{c},{h},{w}] new_image, int64[1,1,{h},{w}] new_mask)
{{
  new_image, new_mask = augment.{name} <{attributes}> (image, mask, u)
}}
{function}""")
    return file


def run(name, attributes, u, image, mask, folder):
    file = with_given_numbers(name, attributes, len(u), image, mask, folder)
    given = {"image": image, "mask": mask, "u": np.float32(u)}
    options = []
    for key, array in given.items():
        np.save(folder / f"{key}.npy", array)
        options += ["--input", f"{key}={folder / f'{key}.npy'}"]
    done("run", file, *options, "-o", folder / "out")
    return np.load(folder / "out/new_image.npy"), np.load(folder / "out/new_mask.npy")


def pictures(height=11, width=17, channels=3):
    random = np.random.default_rng(height)
    image = random.uniform(0, 255, (1, channels, height, width)).astype(np.float32)
    return image, random.integers(0, 9, (1, 1, height, width))


def reflected(x, size):
    """Coordinates beyond the border of the first and last pixel come back."""
    x = np.abs(x + 0.5) % (2 * size)
    return np.where(x > size, 2 * size - x, x) - 0.5


def sampled(image, y, x):
    """Bilinear, what is beyond the border's pixels being theirs."""
    height, width = image.shape[-2:]
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = np.minimum(np.floor(y), height - 2).astype(int), np.minimum(np.floor(x), width - 2).astype(int)
    dy, dx = y - top, x - left
    return ((image[..., top, left] * (1 - dx) + image[..., top, left + 1] * dx) * (1 - dy)
            + (image[..., top + 1, left] * (1 - dx) + image[..., top + 1, left + 1] * dx) * dy)


def equal_where_certain(mask, found, y, x):
    """Nearest, but where the place is halfway between two pixels."""
    height, width = mask.shape[-2:]
    certain = (np.abs(y % 1 - 0.5) > 1e-3) & (np.abs(x % 1 - 0.5) > 1e-3)
    rows = np.clip(np.rint(y), 0, height - 1).astype(int)
    columns = np.clip(np.rint(x), 0, width - 1).astype(int)
    assert certain.mean() > 0.9
    return (found[0, 0] == mask[0, 0][rows, columns])[certain].all()


@pytest.mark.parametrize("name, axis", [("flip_horizontal", 3), ("flip_vertical", 2)])
@pytest.mark.parametrize("u", [0.0, 0.2999, 0.3, 0.9])
def test_flip(tmp_path, name, axis, u):
    image, mask = pictures()
    found = run(name, "probability = 0.3", [u], image, mask, tmp_path)
    for before, after in zip((image, mask), found):
        assert np.array_equal(after, np.flip(before, axis) if np.float32(u) < np.float32(0.3) else before)


@pytest.mark.parametrize("u, size", [
    ([0, 0, 0, 0], (11, 17)), ([0.3, 0.8, 0.1, 0.9], (11, 17)), ([0.999, 0.5, 0.5, 0.5], (12, 12)),
    ([0.4, 0.999, 0.7, 0.2], (30, 8)), ([0.1, 0.1, 0.99, 0.01], (9, 40)),
])
def test_resized_crop(tmp_path, u, size):
    image, mask = pictures(*size)
    new_image, new_mask = run("resized_crop", "smallest = 0.3, largest = 0.9", u, image, mask, tmp_path)
    h, w = size
    area = 0.3 + u[0] * 0.6
    ratio = np.exp((2 * u[1] - 1) * np.log(4 / 3))
    # In pixels, as torchvision's RandomResizedCrop has it, but not rounded.
    width = min(max(np.sqrt(area * h * w * ratio), area * w), w)
    height = area * h * w / width
    assert abs(width / height - ratio) < 1e-6 or width in (w, area * w)
    left, top = u[2] * (w - width), u[3] * (h - height)
    y, x = np.meshgrid(top + (np.arange(h) + 0.5) * height / h - 0.5,
                       left + (np.arange(w) + 0.5) * width / w - 0.5, indexing="ij")
    np.testing.assert_allclose(new_image, sampled(image.astype(float), y, x), atol=0.02)
    assert equal_where_certain(mask, new_mask, y, x)


@pytest.mark.parametrize("u", [[0, 0], [0.999999, 0.3], [0.5, 0.5], [0.1, 0.9]])
@pytest.mark.parametrize("padding", [1, 4])
def test_padded_crop(tmp_path, u, padding):
    image, mask = pictures()
    found = run("padded_crop", f"padding = {padding}.0", u, image, mask, tmp_path)
    top, left = (int(np.floor(each * (2 * padding + 1))) for each in u)
    for before, after in zip((image, mask), found):
        whole = np.pad(before, [(0, 0), (0, 0), (padding, padding), (padding, padding)], mode="reflect")
        assert np.array_equal(after, whole[:, :, top:top + 11, left:left + 17])


@pytest.mark.parametrize("channels", [3, 1])
@pytest.mark.parametrize("u", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0.5, -0.7], [0.9, -1, 1]])
def test_jitter(tmp_path, u, channels):
    image, mask = pictures(channels=channels)
    shares = ", gray = [1.0]" if channels == 1 else ""
    new_image, new_mask = run("jitter", f"brightness = 0.4, contrast = 0.6, saturation = 0.8{shares}", u, image, mask, tmp_path)
    # torchvision's adjust_brightness, adjust_contrast and adjust_saturation.
    weights = np.array([0.299, 0.587, 0.114] if channels == 3 else [1.0]).reshape(1, -1, 1, 1)

    def gray(x):
        return (x * weights).sum(1, keepdims=True)

    def blend(x, other, factor):
        return np.clip(factor * x + (1 - factor) * other, 0, 255)

    x = blend(image.astype(float), 0, 1 + 0.4 * u[0])
    x = blend(x, gray(x).mean(), 1 + 0.6 * u[1])
    x = blend(x, gray(x), 1 + 0.8 * u[2])
    np.testing.assert_allclose(new_image, x, atol=1e-3)
    assert np.array_equal(new_mask, mask)


@pytest.mark.parametrize("u", [0, 1, -1, 0.37])
@pytest.mark.parametrize("size", [(11, 17), (24, 24)])
def test_rotate(tmp_path, u, size):
    image, mask = pictures(*size)
    new_image, new_mask = run("rotate", "degrees = 25.0", [u], image, mask, tmp_path)
    h, w = size
    angle = np.deg2rad(25 * u)
    y, x = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    from_x = np.cos(angle) * x - np.sin(angle) * y + (w - 1) / 2
    from_y = np.sin(angle) * x + np.cos(angle) * y + (h - 1) / 2
    expected = sampled(image.astype(float), reflected(from_y, h), reflected(from_x, w))
    np.testing.assert_allclose(new_image, expected, atol=0.02)
    assert equal_where_certain(mask, new_mask, reflected(from_y, h), reflected(from_x, w))
    # Pillow turns the same way, and has black where the picture ends.
    turned = Image.fromarray(image[0, 0]).rotate(25 * u, Image.Resampling.BILINEAR)
    inside = (from_x > 0) & (from_x < w - 1) & (from_y > 0) & (from_y < h - 1)
    np.testing.assert_allclose(new_image[0, 0][inside], np.array(turned)[inside], atol=0.05)


AUGMENT = "flip,flip:vertical,crop:0.5-1,crop:2,jitter:0.3/0.2/0.1,rotate:15"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return network(tmp_path_factory.mktemp("net"), 16, 16, classes=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return shapes(tmp_path_factory.mktemp("shapes") / "data", 10, 0)


def test_resuming_gives_the_same_bits(model, data, tmp_path):
    train = ["train", model, "--data", data, "--batch-size", 3, "--seed", 4]
    done(*train, "--epochs", 3, "--augment", AUGMENT, "-o", tmp_path / "whole.onnx")
    done(*train, "--epochs", 3, "-o", tmp_path / "plain.onnx")
    assert not equal_bits(tmp_path / "whole.onnx", tmp_path / "plain.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    done(*train, "--steps", 2, *kept, "--augment", AUGMENT)
    done(*train, "--steps", 5, *kept, "--augment", AUGMENT, "--resume")
    done(*train, "--epochs", 3, *kept, "--resume")
    assert equal_bits(tmp_path / "whole.onnx", tmp_path / "parts.onnx")
    result = onward(*train, "--epochs", 4, *kept, "--resume", "--augment", "flip")
    assert result.returncode == 1
    assert f"the checkpoint was made with --augment {AUGMENT}, not with --augment flip: omit --augment" in result.stderr
    result = onward(*train, "--steps", 2, "--checkpoint", tmp_path / "other", "-o", tmp_path / "o.onnx")
    result = onward(*train, "--epochs", 4, "--checkpoint", tmp_path / "other", "-o", tmp_path / "o.onnx", "--resume",
                    "--augment", "flip")
    assert result.returncode == 1 and "the checkpoint was made without --augment" in result.stderr


def test_evaluations_see_images_as_they_are(model, data, tmp_path):
    frozen = ["train", model, "--data", data, "--eval", data, "--augment", AUGMENT, "--json", "-o", tmp_path / "t.onnx"]
    lines = [json.loads(line) for line in done(*frozen).stdout.splitlines()]
    epoch = next(line for line in lines if line["event"] == "epoch")
    found = json.loads(done("eval", tmp_path / "t.onnx", "--data", data, "--json").stdout)
    assert json.dumps(found["loss"]) in json.dumps(epoch)


OWN = """
<ir_version: 10, opset_import: ["" : 22]>
darker (float[1,C,H,W] image{0}) => (float[1,C,H,W] new_image{1})
{{
  u = RandomUniform <shape = [1]> ()
  new_image = Mul (image, u)
  {2}
}}
"""


def test_a_model_of_ones_own(model, data, tmp_path):
    own = tmp_path / "own.onnxtxt"
    own.write_text(OWN.format(", int64[1,1,H,W] mask", ", int64[1,1,H,W] new_mask", "new_mask = Identity (mask)"))
    train = ["train", model, "--data", data, "--batch-size", 4, "--steps", 2]
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "t.onnx"]
    done(*train, *kept, "--augment", f"{own},flip")
    own.write_text(own.read_text().replace("shape = [1]", "shape = [1], low = 0.5"))
    result = onward(*train[:-1], 4, *kept, "--resume")
    assert result.returncode == 1 and "is no longer that of the checkpoint" in result.stderr
    # What the program prints is a model that it takes.
    (tmp_path / "all.onnxtxt").write_text(done("example", "augment").stdout)
    done(*train, "--augment", tmp_path / "all.onnxtxt", "-o", tmp_path / "all.onnx")
    own.write_text(OWN.format("", "", ""))
    result = onward(*train, "--augment", own, "-o", tmp_path / "no.onnx")
    assert result.returncode == 1 and "takes no mask, so that masks would no longer fit their images" in result.stderr


def test_gray_images_and_classes(tmp_path):
    text = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,1,8,8] image) => (float[N,2] scores) <float[64,2] w = full(0), float[2] b = full(0)>
{ flat = Flatten(image)  scores = Gemm(flat, w, b) }
"""
    (tmp_path / "net.onnxtxt").write_text(text)
    done("prepare", tmp_path / "net.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "-o", tmp_path / "net.onnx")
    for i in range(6):
        (tmp_path / f"data/{i % 2}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(i).integers(0, 255, (9, 9)).astype(np.uint8)).save(tmp_path / f"data/{i % 2}/{i}.png")
    done("train", tmp_path / "net.onnx", "--data", tmp_path / "data", "--augment", AUGMENT, "-o", tmp_path / "t.onnx")


def test_inputs_of_all_forms_get_the_same(tmp_path):
    """Moved by whole pixels, samples stay what they are, also where an input takes bytes."""
    for i in range(6):
        (tmp_path / f"data/{i % 2}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(i).integers(0, 255, (8, 9, 3)).astype(np.uint8)).save(tmp_path / f"data/{i % 2}/{i}.png")
    weights = ", ".join(map(repr, (np.random.default_rng(0).normal(size=432).round(3) / 1e5).tolist()))
    files = []
    for dtype, dims, perm in (("float", "3,8,9", "0, 1, 2, 3"), ("uint8", "3,8,9", "0, 1, 2, 3"),
                              ("float", "8,9,3", "0, 3, 1, 2"), ("uint8", "8,9,3", "0, 3, 1, 2"), ("double", "3,8,9", "0, 1, 2, 3")):
        (tmp_path / "net.onnxtxt").write_text(f"""
<ir_version: 8, opset_import: ["" : 17]>
net ({dtype}[N,{dims}] image) => (float[N,2] scores) <float[216,2] w = {{{weights}}}, float[2] b = full(0)>
{{ number = Cast<to = 1>(image)  first = Transpose<perm = [{perm}]>(number)  flat = Flatten(first)  scores = Gemm(flat, w, b) }}
""")
        done("prepare", tmp_path / "net.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "--lr", 1e-6,
             "-o", tmp_path / "net.onnx")
        files.append(tmp_path / f"{len(files)}.onnx")
        done("train", tmp_path / "net.onnx", "--data", tmp_path / "data", "--augment", "flip:both,crop:2", "--epochs", 3,
             "--batch-size", 2, *([] if dtype == "uint8" else ["--scale", 1]), "-o", files[-1])
    assert all(equal_bits(files[0], file) for file in files[1:])


@pytest.mark.parametrize("wanted, message", [
    ("flop", "unknown augmentation 'flop': did you mean 'flip'?"),
    ("flip:up", "--augment: 'flip:up' is not of the form flip, flip:vertical or flip:both"),
    ("crop", "--augment: 'crop' is not of the form crop:0.8-1"),
    ("crop:0.8", "'crop:0.8' is not of the form"),
    ("crop:0-1", "'crop:0-1' is not of the form"),
    ("crop:1-0.5", "'crop:1-0.5' is not of the form"),
    ("crop:16", "--augment crop:16 needs images of at least 17 x 17 pixels"),
    ("jitter:2", "'jitter:2' is not of the form"),
    ("jitter:0.1/0.2", "'jitter:0.1/0.2' is not of the form"),
    ("rotate:0", "'rotate:0' is not of the form"),
    ("rotate:x", "'rotate:x' is not of the form"),
    ("flip,", "unknown augmentation ''"),
    ("nowhere.onnx", "nowhere.onnx"),
])
def test_refusals(model, data, tmp_path, wanted, message):
    result = onward("train", model, "--data", data, "--augment", wanted, "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert not (tmp_path / "t.onnx").exists()


@pytest.mark.parametrize("text, message", [
    ("m (int64[1,C,H,W] x) => (int64[1,C,H,W] y) { y = Abs(x) }", "'x' is i64[1,C,H,W]: an augmentation takes an image f32[1,C,H,W]"),
    ("m (float[N] x) => (float[N] y) { y = Abs(x) }", "'x' is f32[N]: an augmentation takes"),
    ("m (float[1,C,H,W] x) => (float[1,C,H,W] y, float[1,C,H,W] z) { y = Abs(x) z = Abs(x) }", "it has 1 inputs and 2 outputs"),
])
def test_models_of_another_form(model, data, tmp_path, text, message):
    (tmp_path / "own.onnxtxt").write_text(f'<ir_version: 10, opset_import: ["" : 22]>\n{text}\n')
    result = onward("train", model, "--data", data, "--augment", tmp_path / "own.onnxtxt", "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr


def test_only_images_are_augmented(model, tmp_path):
    np.savez(tmp_path / "d.npz", pixels=np.zeros((2, 3, 16, 16), np.float32), label=np.zeros((2, 16, 16), int))
    result = onward("train", model, "--data", tmp_path / "d.npz", "--augment", "flip", "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and "there are no images to augment" in result.stderr
    assert os.listdir(tmp_path) == ["d.npz"]
