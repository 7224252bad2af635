"""Masks are trained on as the array would be that Pillow makes of them, and segmentation is learned."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from program import done, equal_bits, onward

SIZES = [(40, 30), (30, 40), (9, 9), (5, 7), (100, 13), (16, 12), (33, 64), (12, 8), (3, 50), (12, 12), (24, 24), (71, 23), (23, 71)]


def mask_of(width, height, seed, classes):
    random = np.random.default_rng(seed)
    return random.integers(0, classes, (height, width)).astype(np.uint8)


def save_mask(values, file):
    """In a form that the ending and the number in the name ask for: gray, a palette, 16 bits."""
    image = Image.fromarray(values)
    if "palette" in file.stem:
        image = Image.frombytes("P", image.size, values.tobytes())
        image.putpalette([7, 7, 7, 255, 0, 0, 0, 0, 255, 9, 9, 9])
        image.save(file, bits=int(file.stem[-1]))
    elif "wide" in file.stem:
        Image.fromarray(values.astype(np.uint16)).save(file)
    elif "text" in file.stem:
        rows = "\n".join(" ".join(map(str, row)) for row in values)
        file.write_text(f"P2\n# a comment\n{values.shape[1]} {values.shape[0]} 9\n{rows}\n")
    else:
        image.save(file)


NAMES = ["a.png", "b.bmp", "c.pgm", "d-palette2.png", "e-palette8.png", "f-palette4.png", "g-wide.png", "h-text.pgm",
         "deep/i.png", "deep/er/j.bmp", "k-palette8.bmp", "l.png", "m.png"]


def folder_of_masks(folder, classes=4):
    for i, ((width, height), name) in enumerate(zip(SIZES, NAMES)):
        image, mask = folder / "images" / name, folder / "masks" / name
        image.parent.mkdir(parents=True, exist_ok=True)
        mask.parent.mkdir(parents=True, exist_ok=True)
        samples = np.random.default_rng(i).integers(0, 255, (height, width, 3)).astype(np.uint8)
        Image.fromarray(samples).save(image.with_suffix(".png"))
        save_mask(mask_of(width, height, 100 + i, classes), mask)
    return folder


def arrays_of(folder, height, width, resize=None, classes=4):
    images, labels = [], []
    files = sorted((folder / "images").rglob("*.*"), key=lambda f: (len(f.relative_to(folder).parts), str(f)))
    for file in files:
        image = Image.open(file)
        w, h = image.size
        values = mask_of(w, h, 100 + SIZES.index((w, h)), classes)
        if resize:
            w, h = (int(resize * w / h), resize) if h <= w else (resize, int(resize * h / w))
        else:
            w, h = (height * w // h, height) if height * w >= width * h else (width, width * h // w)
        top, left = round((h - height) / 2), round((w - width) / 2)
        box = (left, top, left + width, top + height)
        image = image.resize((w, h), Image.Resampling.BILINEAR).crop(box)
        images.append((np.array(image) * (1 / 255)).astype(np.float32).transpose(2, 0, 1))
        labels.append(np.array(Image.fromarray(values).resize((w, h), Image.Resampling.NEAREST).crop(box)))
    return np.stack(images), np.stack(labels).astype(np.int64)


def network(folder, height="H", width="W", classes=4, hidden=6, options=("--loss", "softmax_cross_entropy")):
    """Two convolutions, prepared for training."""
    random = np.random.default_rng(3)

    def weights(*dims):
        values = random.normal(size=dims) / np.sqrt(np.prod(dims[1:]))
        return "{" + ", ".join(repr(float(np.float32(v))) for v in values.ravel()) + "}"

    (folder / "net.onnxtxt").write_text(f"""
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,3,{height},{width}] pixels) => (float[N,{classes},{height},{width}] scores) <
  float[{hidden},3,3,3] w1 = {weights(hidden, 3, 3, 3)},
  float[{hidden}] b1 = full(0.1),
  float[{classes},{hidden},3,3] w2 = {weights(classes, hidden, 3, 3)},
  float[{classes}] b2 = full(0)>
{{
  c1 = Conv<pads = [1, 1, 1, 1]>(pixels, w1, b1)
  r1 = Relu(c1)
  scores = Conv<pads = [1, 1, 1, 1]>(r1, w2, b2)
}}
""")
    done("prepare", folder / "net.onnxtxt", *options, "--optimizer", "adam", "--lr", 0.02, "-o", folder / "net.onnx")
    return folder / "net.onnx"


@pytest.mark.parametrize("form, options, same", [
    ((12, 12), [], {}),
    ((9, 14), [], {}),
    ((12, 11), ["--resize", 17], {"resize": 17}),
])
def test_masks_are_those_of_pillow(tmp_path, form, options, same):
    data = folder_of_masks(tmp_path / "data")
    model = network(tmp_path, *form)
    x, label = arrays_of(data, *form, **same)
    np.savez(tmp_path / "d.npz", pixels=x, label=label)
    common = ["--epochs", 2, "--batch-size", 5, "--seed", 3]
    done("train", model, "--data", tmp_path / "d.npz", *common, "-o", tmp_path / "arrays.onnx")
    done("train", model, "--data", data, *common, *options, "-o", tmp_path / "images.onnx")
    assert equal_bits(tmp_path / "images.onnx", tmp_path / "arrays.onnx")
    found = [json.loads(done("eval", tmp_path / "images.onnx", "--data", where, "--json").stdout)
             for where in (data, tmp_path / "d.npz")]
    assert found[0]["loss"] == found[1]["loss"] and found[0]["accuracy"] == found[1]["accuracy"]
    # Masks elsewhere, and a model without its training info.
    (data / "masks").rename(tmp_path / "elsewhere")
    done("train", model, "--data", data / "images", "--masks", tmp_path / "elsewhere", *common, *options,
         "--inference", "-o", tmp_path / "inference.onnx")
    again = json.loads(done("eval", tmp_path / "inference.onnx", "--data", data / "images", "--masks",
                            tmp_path / "elsewhere", "--json").stdout)
    assert again["accuracy"] == found[0]["accuracy"]


def shapes(folder, count, seed, ignored=None):
    """A disk and a square on a background, told by their colors, under noise."""
    random = np.random.default_rng(seed)
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    y, x = np.mgrid[0:24, 0:24]
    for i in range(count):
        mask = np.zeros((24, 24), np.uint8)
        cy, cx = random.integers(5, 19, 2)
        mask[(y - cy) ** 2 + (x - cx) ** 2 < 20] = 1
        top, left = random.integers(0, 16, 2)
        mask[top:top + 7, left:left + 7] = 2
        colors = np.array([[60, 60, 60], [190, 60, 60], [60, 60, 190]])
        samples = colors[mask] + random.integers(-40, 40, (24, 24, 3))
        Image.fromarray(samples.clip(0, 255).astype(np.uint8)).save(folder / f"images/{i:02}.png")
        if ignored is not None:
            mask[:3] = ignored
        Image.fromarray(mask).save(folder / f"masks/{i:02}.png")
    return folder


@pytest.mark.parametrize("ignored", [None, 255])
def test_segmentation_is_learned(tmp_path, ignored):
    more = [] if ignored is None else ["--ignore-index", ignored]
    model = network(tmp_path, classes=3, options=("--loss", "softmax_cross_entropy", *more))
    train, test = shapes(tmp_path / "train", 24, 0, ignored), shapes(tmp_path / "test", 8, 1, ignored)
    done("train", model, "--data", train, "--eval", test, "--image-size", 24, "--epochs", 12, "--batch-size", 4,
         "-o", tmp_path / "t.onnx")
    found = json.loads(done("eval", tmp_path / "t.onnx", "--data", test, "--json").stdout)
    assert found["examples"] == 8 and found["accuracy"] > 0.97, found


def test_one_channel_takes_masks_of_0_and_1(tmp_path):
    data = shapes(tmp_path / "data", 12, 0)
    for file in (data / "masks").iterdir():
        Image.fromarray(np.minimum(np.array(Image.open(file)), 1)).save(file)
    model = network(tmp_path, 24, 24, classes=1, options=("--loss", "bce_with_logits"))
    train = ["train", model, "--data", data, "--epochs", 40, "--batch-size", 4, "-o", tmp_path / "t.onnx"]
    done(*train)
    found = json.loads(done("eval", tmp_path / "t.onnx", "--data", data, "--json").stdout)
    assert found["loss"] < 0.1
    Image.fromarray(np.full((24, 24), 255, np.uint8)).save(data / "masks/03.png")
    result = onward(*train)
    assert result.returncode == 1 and "03.png" in result.stderr and "is 255, but the model tells classes 0 to 1" in result.stderr


def test_resuming_gives_the_same_bits(tmp_path):
    data = shapes(tmp_path / "data", 10, 0)
    model = network(tmp_path, 16, 16, classes=3)
    train = ["train", model, "--data", data, "--batch-size", 3, "--val-split", 0.2]
    done(*train, "--epochs", 3, "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    done(*train, "--steps", 4, *kept)
    done(*train, "--epochs", 3, *kept, "--resume")
    assert equal_bits(tmp_path / "whole.onnx", tmp_path / "parts.onnx")
    (data / "masks/03.png").rename(tmp_path / "03.png")
    Image.fromarray(np.ones((24, 24), np.uint8)).save(data / "masks/03.png")
    result = onward(*train, "--epochs", 4, *kept, "--resume")
    assert result.returncode == 1 and "differs from the data that the checkpoint was trained on" in result.stderr


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return network(tmp_path_factory.mktemp("net"), 24, 24, classes=3)


def value(file, number):
    mask = np.array(Image.open(file))
    mask[5, 7] = number
    Image.fromarray(mask).save(file)


def link_masks(folder):
    (folder / "masks").rename(folder.parent / "away")
    (folder / "masks").symlink_to(folder.parent / "away")


def link_out(file):
    file.unlink()
    file.symlink_to("/etc/passwd")


@pytest.mark.parametrize("change, message", [
    (lambda f: (f / "masks/02.png").unlink(), "1 of 6 images have no mask: '02.png'"),
    (lambda f: (f / "images/02.png").unlink(), "1 of 6 masks have no image: '02.png'"),
    (lambda f: [(f / f"masks/0{i}.png").unlink() for i in range(5)],
     "5 of 6 images have no mask: '00.png', '01.png', '02.png' and 2 others"),
    (lambda f: shutil.copy(f / "masks/02.png", f / "masks/02.bmp"),
     "'02.bmp' and '02.png' would be the mask of one image"),
    (lambda f: shutil.copy(f / "images/02.png", f / "images/02.jpg"),
     "'02.jpg' and '02.png' would be images of one mask"),
    (lambda f: shutil.rmtree(f / "masks"), "masks are in a folder 'masks' beside 'images'"),
    (lambda f: shutil.rmtree(f / "images"), "masks are in a folder 'masks' beside 'images'"),
    (lambda f: [file.unlink() for file in (f / "images").iterdir()], "the folder has no images"),
    (lambda f: [file.unlink() for file in (f / "masks").iterdir()], "the folder has no images"),
    (link_masks, "masks' is a link: put the folder itself in its place"),
    (lambda f: link_out(f / "masks/02.png"), "leads out of the folder"),
    (lambda f: Image.fromarray(np.zeros((24, 23), np.uint8)).save(f / "masks/02.png"),
     "it has 23 x 24 pixels, but its image"),
    (lambda f: value(f / "masks/02.png", 3),
     "pixel x 7, y 5 is 3, but the model tells classes 0 to 2; if 3 marks pixels that do not count"),
    (lambda f: Image.open(f / "masks/02.png").convert("RGB").save(f / "masks/02.png"), "its pixels have colors"),
    (lambda f: Image.open(f / "masks/02.png").convert("RGBA").save(f / "masks/02.png"), "its pixels have colors"),
    (lambda f: (Image.open(f / "masks/02.png").convert("RGB").save(f / "masks/02.bmp"), (f / "masks/02.png").unlink()),
     "its pixels have colors"),
    (lambda f: (Image.open(f / "masks/02.png").convert("RGB").save(f / "masks/02.ppm"), (f / "masks/02.png").unlink()),
     "its pixels have colors"),
    (lambda f: (Image.open(f / "masks/02.png").save(f / "masks/02.jpg"), (f / "masks/02.png").unlink()),
     "masks are PNG, BMP or PNM files, this is JPEG"),
    (lambda f: (f / "masks/02.png").write_bytes(b"no"), "this is none of them"),
    (lambda f: (f / "masks/02.png").write_bytes((f / "masks/02.png").read_bytes()[:60]), "cannot read this PNG mask"),
    (["--masks", "nowhere"], "there is no folder of masks 'nowhere'"),
])
def test_refusals(net, tmp_path, change, message):
    data = shapes(tmp_path / "data", 6, 0)
    options = change if isinstance(change, list) else []
    if not options:
        change(data)
    result = onward("train", net, "--data", data, "--batch-size", 6, "-o", tmp_path / "t.onnx", *options)
    assert result.returncode == 1 and message in result.stderr, result.stderr
    assert not (tmp_path / "t.onnx").exists()
    if "02.png" in message or "pixel" in message:
        assert "02." in result.stderr


@pytest.mark.parametrize("shape, message", [
    ("int64[N]", "masks take an input of labels such as i64[N,224,224]"),
    ("int64[N,12,24]", "masks are cut to the size of their images, 24 x 24"),
])
def test_labels_of_another_form(tmp_path, shape, message):
    data = shapes(tmp_path / "data", 2, 0)
    model = tmp_path / "net.onnxtxt"
    model.write_text(f"""
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
net (float[N,3,24,24] pixels) => (float y) <float w = {{1.0}}> {{
  scaled = Mul(pixels, w)
  y = ReduceMean<keepdims = 0>(scaled)
}}
training_info {{
  algorithm step ({shape} label) => (float w_new) {{
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], y = "y">(w)
    w_new = Sub(w, dw)
  }}
  update_binding {{
    w <- w_new
  }}
}}
""")
    result = onward("train", model, "--data", data, "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and message in result.stderr, result.stderr


def test_masks_are_for_images(net, tmp_path):
    np.savez(tmp_path / "d.npz", pixels=np.zeros((2, 3, 24, 24), np.float32), label=np.zeros((2, 24, 24), int))
    shapes(tmp_path / "data", 2, 0)
    result = onward("train", net, "--data", tmp_path / "d.npz", "--masks", tmp_path / "data/masks", "-o", tmp_path / "t.onnx")
    assert result.returncode == 1 and "--masks says where the masks of a folder of images are" in result.stderr


def test_masks_are_predicted(net, tmp_path):
    data = shapes(tmp_path / "data", 6, 0)
    (data / "images/deep").mkdir()
    (data / "images/05.png").rename(data / "images/deep/5.png")
    shutil.rmtree(data / "masks")
    (data / "masks").mkdir()
    result = onward("predict", net, "--data", data)
    assert "--masks" in result.stderr, result.stderr
    predict = ["predict", net, "--data", data, "--masks", tmp_path / "out"]
    lines = done(*predict).stdout.splitlines()
    assert lines[0] == "image,mask" and lines[-1] == f"deep/5.png,{tmp_path}/out/deep/5.png" and len(lines) == 7
    # What was predicted is what an evaluation finds right.
    shutil.rmtree(data / "masks")
    shutil.copytree(tmp_path / "out", data / "masks")
    assert json.loads(done("eval", net, "--data", data, "--json").stdout)["accuracy"] == 1
    result = onward(*predict)
    assert result.returncode == 1 and "out/00.png' exists already" in result.stderr


def test_other_models_predict_no_masks(tmp_path):
    data = shapes(tmp_path / "data", 2, 0)
    net = network(tmp_path, 24, 24, classes=1, options=("--loss", "bce_with_logits"))
    result = onward("predict", net, "--data", data, "--masks", tmp_path / "out")
    assert result.returncode == 1 and "the model has no output of scores [N,C,H,W]" in result.stderr
    assert not (tmp_path / "out").exists()
