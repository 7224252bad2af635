"""Every command that is given another framework's file says what it is, and what to do."""

import os
import subprocess
import zipfile

import pytest

ONWARD = os.environ["ONWARD"]
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)


def archive(file, *names):
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, b"content")


def saved_model(folder):
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"\x08\x01")


# How each is made, under which name, and what is said of it.
FILES = {
    "Keras": (lambda file: archive(file, "metadata.json", "config.json", "model.weights.h5"), "model.keras",
              'it is a Keras model; in Python, onward.keras.export("{file}", "model.onnx")'),
    "Keras by another name": (lambda file: archive(file, "metadata.json", "config.json", "model.weights.h5"), "model.onnx",
                              "it is a Keras model"),
    "HDF5": (lambda file: file.write_bytes(HDF5), "model.h5", 'it is an HDF5 file, as Keras writes models and weights; in '
                                                              'Python, onward.keras.export("{file}"'),
    "SavedModel": (saved_model, "saved", "it is a TensorFlow SavedModel"),
    "PyTorch": (lambda file: archive(file, "archive/data.pkl", "archive/data/0"), "model.pt",
                "it is a PyTorch file, which contains tensors but no network; in Python, onward.torch.export("),
    "an old file of PyTorch": (lambda file: file.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), "model.pth",
                               "it is a PyTorch file"),
    "NumPy": (lambda file: archive(file, "x.npy"), "data.npz", "it is an archive of NumPy arrays"),
    "an archive": (lambda file: archive(file, "x.txt"), "model.zip", "it is a ZIP archive"),
    "LiteRT": (lambda file: file.write_bytes(b"\x1c\x00\x00\x00TFL3" + bytes(50)), "model.tflite", "it is a LiteRT (TensorFlow Lite) model"),
}
COMMANDS = {
    "check": ["check", "{}"], "show": ["show", "{}"], "prepare": ["prepare", "{}", "-o", "out.onnx", "--loss", "mse"],
    "lower": ["lower", "{}", "-o", "out.onnx"], "export": ["export", "{}", "--to", "torch", "-o", "out"],
    "train": ["train", "{}", "--data", "data", "-o", "out.onnx"], "eval": ["eval", "{}", "--data", "data"],
    "run": ["run", "{}"], "upgrade": ["upgrade", "{}", "--opset", "21", "-o", "out.onnx"],
}


def said(arguments):
    done = subprocess.run([ONWARD, *arguments], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path, name):
    make, file, message = FILES[name]
    make(tmp_path / file)
    assert f"it is not an ONNX model: {message.format(file=tmp_path / file)}" in said(["show", tmp_path / file])


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(tmp_path, command):
    archive(tmp_path / "model.keras", "config.json", "model.weights.h5")
    (tmp_path / "data").mkdir()
    places = {"{}": tmp_path / "model.keras", "data": tmp_path / "data", "out": tmp_path / "out"}
    assert "it is a Keras model; in Python, onward.keras.export(" in said([places.get(each, each) for each in COMMANDS[command]])


def test_a_part_of_a_saved_model(tmp_path):
    saved_model(tmp_path / "saved")
    assert "it is a TensorFlow SavedModel" in said(["check", tmp_path / "saved/saved_model.pb"])
