"""Emitted source of models that people write in Keras reads like theirs: docs/emitted_source.md shows both.

As a script, it writes its part of that page: `keras_readable_test.py` with the environment of the tests."""

import ast
import pathlib
import re
import sys
import tempfile

import keras
import keras_models as models
import numpy as np
import pytest

import onward.keras
from emitted import module_of, onward as program
from pages import LONGEST, PAGE, classes_in, complaints, original_of, section, write_sections

MODELS = {
    "vit": (models.VisionTransformer, [models.Attention, models.EncoderBlock, models.VisionTransformer]),
    "gpt": (models.GPT, [models.CausalSelfAttention, models.MLP, models.Block, models.GPT]),
    "resnet18": (models.ResNet18, [models.BasicBlock, models.ResNet18]),
}


def made_up(name, size=4, length=8):
    """A batch: what the model reads, and what it should give."""
    random = np.random.default_rng(size + length)
    if name == "gpt":
        return random.integers(0, 50, (size, length)), random.integers(0, 50, (size, length))
    side = 16 if name == "vit" else 32
    return random.normal(size=(size, side, side, 3)).astype("float32"), random.integers(0, 10, size)


def symbolic(name):
    if name == "gpt":
        return keras.Input((None,), dtype="int64", name="tokens")
    side = 16 if name == "vit" else 32
    return keras.Input((side, side, 3), name="image")


def trained(name):
    """The model after a step of its training."""
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")
    keras.utils.set_random_seed(1)
    model = MODELS[name][0]()
    model(symbolic(name))
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.875),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=name == "gpt"))
    model.train_on_batch(*made_up(name))
    return model


def job_of(name, folder):
    """The model, and its job emitted to a folder."""
    model = trained(name)
    onward.keras.export(model, folder / "job.onnx")
    program("export", folder / "job.onnx", "--to", "keras", "-o", folder / "keras")
    return model


@pytest.fixture(scope="module", params=MODELS)
def job(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, job_of(request.param, folder)


def emitted_in(folder):
    return classes_in((folder / "keras/model.py").read_text())


def test_length(job):
    name, folder, _ = job
    assert len(emitted_in(folder).splitlines()) <= LONGEST * len(original_of(MODELS[name][1]).splitlines())


def test_reads_well(job):
    name, folder, _ = job
    source = emitted_in(folder)
    assert "convert_to_tensor" not in source and "{" not in source
    variables = {node.id for node in ast.walk(ast.parse(source))
                 if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert not [each for each in variables if re.search(r"\d", each)]
    # Images stay as Keras has them.
    assert name != "resnet18" or "transpose" not in source


def test_ruff_has_no_complaints(job):
    _, folder, _ = job
    assert complaints(folder / "keras/model.py") == ""


def losses(model, name, sizes):
    found = []
    for size in sizes:
        model.reset_metrics()
        found.append(float(model.train_on_batch(*made_up(name, size, size + 4))))
    return found


def test_goes_on(job, tmp_path):
    """The same results for any size, the same steps, as a file of Keras too, and the way back by both."""
    name, folder, model = job
    module = module_of(folder / "keras")
    emitted, _, optimizer = module.load()
    for size, length in ((4, 8), (1, 5), (3, 12)):
        x, _ = made_up(name, size, length)
        np.testing.assert_allclose(emitted(x), model(x), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(emitted.predict(x, verbose=0), model(x), rtol=1e-4, atol=1e-5)
    twin = onward.keras.export(emitted)
    emitted.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    expected = losses(trained(name), name, (4, 3, 2))
    assert losses(emitted, name, (4, 3, 2)) == pytest.approx(expected, rel=1e-3)
    assert losses(loaded, name, (4, 3, 2)) == pytest.approx(expected, rel=1e-3)
    trainer = onward.Trainer(twin)
    reads = twin.graph.inputs[0].name if hasattr(twin, "graph") else ("tokens" if name == "gpt" else "image")
    moved = [float(trainer.step(dict(zip((reads, "label"), made_up(name, size, size + 4), strict=True)))["loss"])
             for size in (4, 3, 2)]
    assert moved == pytest.approx(expected, rel=1e-3)
    module.save(emitted, optimizer)
    program("import-weights", folder / "keras", folder / "job.onnx", "-o", folder / "taken.onnx")
    program("export", folder / "taken.onnx", "--to", "keras", "-o", folder / "again")
    again, _, _ = module_of(folder / "again").load()
    for key, variable in module.tensors(emitted).items():
        np.testing.assert_array_equal(module.tensors(again)[key], variable)


def test_page(job):
    name, folder, _ = job
    assert f"```python\n{original_of(MODELS[name][1])}```" in PAGE.read_text()
    assert f"```python\n{emitted_in(folder)}```" in PAGE.read_text()


if __name__ == "__main__":
    sections = {}
    for each, (kind, classes) in MODELS.items():
        with tempfile.TemporaryDirectory() as made:
            job_of(each, pathlib.Path(made))
            title = f"{kind.__name__} in Keras"
            sections[title] = section(title, original_of(classes), emitted_in(pathlib.Path(made)))
    write_sections(sections)
    sys.exit(0)
