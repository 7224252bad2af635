"""A folder of images is trained on as the array would be that Pillow and NumPy make of it."""

import json
import re
import shutil
import zlib

import numpy as np
import onnx
import pytest
from PIL import Image

from program import done, equal_bits, events, onward

CLASSES = ["blue", "green", "red"]


def picture(width, height, seed):
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    smooth = np.stack([x * 7 + y, y * 9, 255 - x * 3 - y], -1)
    return Image.fromarray((smooth + random.integers(0, 30, (height, width, 3))).clip(0, 255).astype(np.uint8))


SIZES = [(40, 30), (30, 40), (9, 9), (5, 7), (100, 13), (16, 12), (33, 64), (12, 8), (3, 50), (12, 12), (24, 71)]


def folder_of_images(folder, suffixes=("png", "jpg", "webp")):
    for i, size in enumerate(SIZES):
        inner = folder / CLASSES[i % 3]
        inner.mkdir(parents=True, exist_ok=True)
        picture(*size, i).save(inner / f"{i:02}.{suffixes[i % len(suffixes)]}")
    return folder


def array_of(folder, form, mode="RGB", resize=None, scale=1 / 255, mean=0, std=1):
    """What torchvision's Resize and CenterCrop do, with Pillow; then the numbers, in double."""
    height, width = form
    images, labels = [], []
    for file in sorted(folder.glob("*/*")):
        image = Image.open(file).convert(mode)
        w, h = image.size
        if resize:
            w, h = (int(resize * w / h), resize) if h <= w else (resize, int(resize * h / w))
        else:
            w, h = (height * w // h, height) if height * w >= width * h else (width, width * h // w)
        image = image.resize((w, h), Image.Resampling.BILINEAR)
        top, left = round((h - height) / 2), round((w - width) / 2)
        samples = np.array(image.crop((left, top, left + width, top + height))).reshape(height, width, -1)
        images.append(((samples * scale - np.array(mean)) / np.array(std)).astype(np.float32))
        labels.append(CLASSES.index(file.parent.name))
    return np.stack(images), np.array(labels)


def classifier(folder, shape, classes=3):
    """A linear layer over all samples of an image, prepared for training."""
    count = int(np.prod([d for d in shape if d != "N"]))
    dims = ",".join(map(str, shape))
    weights = np.random.default_rng(5).normal(size=(count, classes)).astype(np.float32) / count
    text = ", ".join(map(repr, weights.ravel().tolist()))
    (folder / "net.onnxtxt").write_text(f"""
<ir_version: 8, opset_import: ["" : 17]>
net (float[{dims}] pixels) => (float[N,{classes}] scores) <float[{count},{classes}] w = {{{text}}}, float[{classes}] b = {{{", ".join("0" * classes)}}}>
{{
  flat = Flatten(pixels)
  scores = Gemm(flat, w, b)
}}
""")
    done("prepare", folder / "net.onnxtxt", "--loss", "softmax_cross_entropy", "--optimizer", "sgd", "--lr", 0.05,
         "-o", folder / "net.onnx")
    return folder / "net.onnx"


def metadata(file):
    return {entry.key: entry.value for entry in onnx.load(file).metadata_props}


IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


@pytest.mark.parametrize("shape, form, options, same", [
    (["N", 3, 12, 12], (12, 12), [], {}),
    (["N", 3, 9, 14], (9, 14), [], {}),
    (["N", 14, 9, 3], (14, 9), ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"], IMAGENET),
    (["N", 1, 12, 12], (12, 12), ["--resize", 15], {"resize": 15, "mode": "L"}),
    (["N", 12, 12], (12, 12), ["--scale", 1, "--mean", 127.5, "--std", 64], {"mode": "L", "scale": 1, "mean": 127.5, "std": 64}),
    (["N", 3, 12, 11], (12, 11), ["--resize", 14], {"resize": 14}),
])
def test_images_are_those_of_pillow(tmp_path, shape, form, options, same):
    images = folder_of_images(tmp_path / "images")
    model = classifier(tmp_path, shape)
    x, label = array_of(images, form, **same)
    dims = [len(label), *shape[1:]]
    x = x.transpose(0, 3, 1, 2) if shape[1] in (1, 3) else x
    np.savez(tmp_path / "d.npz", pixels=x.reshape(dims), label=label)
    common = ["--epochs", 3, "--batch-size", 4, "--seed", 3]
    done("train", model, "--data", tmp_path / "d.npz", *common, "-o", tmp_path / "arrays.onnx")
    result = done("train", model, "--data", images, *common, *options, "-o", tmp_path / "images.onnx")
    assert "11 examples of 3 classes (blue 4, green 4, red 3), 3 steps per epoch" in result.stdout
    assert equal_bits(tmp_path / "images.onnx", tmp_path / "arrays.onnx")
    # What the model keeps is what `eval` does without being told.
    found = [json.loads(done("eval", tmp_path / "images.onnx", "--data", data, "--json").stdout)
             for data in (images, tmp_path / "d.npz")]
    assert found[0]["loss"] == found[1]["loss"] and found[0]["accuracy"] == found[1]["accuracy"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return classifier(tmp_path_factory.mktemp("model"), ["N", 3, 12, 12])


@pytest.fixture(scope="module")
def all_images(tmp_path_factory):
    return folder_of_images(tmp_path_factory.mktemp("images"), ["png"])


@pytest.fixture
def images(all_images, tmp_path):
    return shutil.copytree(all_images, tmp_path / "images")


def test_resuming_gives_the_same_bits(model, images, tmp_path):
    train = ["train", model, "--data", images, "--batch-size", 2, "--seed", 1, "--mean", 0.5, "--eval", images]
    done(*train, "--epochs", 3, "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    for steps in (4, 5, 13):
        done(*train, "--steps", steps, *kept, *(["--resume"] if steps > 4 else []))
    done(*train, "--epochs", 3, *kept, "--resume")
    assert equal_bits(tmp_path / "whole.onnx", tmp_path / "parts.onnx")
    for change in (lambda: train.__setitem__(train.index(0.5), 0.25),
                   lambda: picture(8, 8, 1).save(images / "red/new.png")):
        change()
        result = onward(*train, "--epochs", 4, *kept, "--resume")
        assert result.returncode == 1 and "differs from the data that the checkpoint was trained on" in result.stderr


def test_classes_are_kept(model, images, tmp_path):
    done("train", model, "--data", images, "-o", tmp_path / "t.onnx", "--inference")
    assert json.loads(metadata(tmp_path / "t.onnx")["onward.classes"]) == CLASSES
    (images / "blue").rename(tmp_path / "blue")
    found = json.loads(done("eval", tmp_path / "t.onnx", "--data", images, "--json").stdout)
    assert found["examples"] == 7
    x, label = array_of(images, (12, 12))
    np.savez(tmp_path / "d.npz", pixels=x.transpose(0, 3, 1, 2), label=label)
    assert found["accuracy"] == json.loads(
        done("eval", tmp_path / "t.onnx", "--data", tmp_path / "d.npz", "--json").stdout)["accuracy"]
    # Other classes are no mistake of a user who says so.
    done("train", model, "--data", images, "-o", tmp_path / "first.onnx")
    (images / "red").rename(images / "rot")
    again = ["train", tmp_path / "first.onnx", "--data", images, "-o", tmp_path / "second.onnx"]
    refused = onward(*again)
    assert refused.returncode == 1 and "unknown class 'rot'" in refused.stderr and "--refit" in refused.stderr
    done(*again, "--refit")
    assert json.loads(metadata(tmp_path / "second.onnx")["onward.classes"]) == ["green", "rot"]


def test_json_has_the_balance(model, images, tmp_path):
    result = done("train", model, "--data", images, "-o", tmp_path / "t.onnx", "--json")
    assert events(result.stdout, "begin")[0]["classes"] == {"blue": 4, "green": 4, "red": 3}


def test_an_image_that_cannot_be_read_costs_no_work(model, images, tmp_path):
    train = ["train", model, "--data", images, "--batch-size", 2, "-o", tmp_path / "t.onnx"]
    done(*train, "--steps", 3)
    (tmp_path / "t.onnx").rename(tmp_path / "three.onnx")
    whole = (images / "red/02.png").read_bytes()
    (images / "red/02.png").write_bytes(whole[:100])
    result = onward(*train, "--epochs", 2)
    assert result.returncode == 1 and re.search(r"cannot read this PNG image: .*\n.*red/02.png': repair it", result.stderr)
    said = re.search(r"the model after step (\d+) is in '(.*)'", result.stderr)
    if said:  # it may be in the first batch
        (images / "red/02.png").write_bytes(whole)
        done("train", model, "--data", images, "--batch-size", 2, "--steps", said[1], "-o", tmp_path / "same.onnx")
        assert equal_bits(tmp_path / "same.onnx", tmp_path / "t.onnx")
    else:
        assert "nothing was written" in result.stderr


def bomb(file):
    """A PNG of 60000 x 60000 pixels in some bytes."""
    data = bytearray(file.read_bytes())
    data[16:24] = (60000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    file.write_bytes(data)


def link(file):
    file.unlink()
    file.symlink_to("/etc/passwd")


def new_class(folder, images):
    folder.mkdir()
    if images:
        picture(3, 3, 0).save(folder / "1.png")


@pytest.mark.parametrize("change, message", [
    (lambda f: bomb(f / "red/02.png"), "60000 x 60000 pixels"),
    (lambda f: (f / "red/02.png").write_bytes(b""), "0 bytes are no image"),
    (lambda f: (f / "red/02.png").write_text("<html>"), "6 bytes are no image"),
    (lambda f: link(f / "red/02.png"), "leads out of the folder"),
    (lambda f: new_class(f / "gold", False), "class 'gold' has no images"),
    (lambda f: new_class(f / "gold", True),
     "the data has 4 classes, but the model's output 'scores' f32[N,3] has scores for 3"),
    (["--mean", "0,0"], "one number, or one for each of 3 channels"),
    (["--mean", "0,x"], "--mean expects numbers"),
    (["--std", "0"], "not positive"),
    (["--image-size", "12x"], "--image-size expects HEIGHTxWIDTH"),
    (["--image-size", "13"], "asks for a height of 13, but the input's is 12"),
    (["--resize", "11"], "give a larger --resize"),
    (["--scale", "0"], "the scale of images is 0"),
])
def test_refusals(model, images, tmp_path, change, message):
    options = change if isinstance(change, list) else []
    if not options:
        change(images)
    result = onward("train", model, "--data", images, "--batch-size", 11, "-o", tmp_path / "t.onnx", *options)
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert not (tmp_path / "t.onnx").exists()
