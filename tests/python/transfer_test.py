"""What the command line does to a model, from Python: evaluate, lower, export, import_weights."""

import json
import pathlib
import signal
import time

import numpy as np
import onnxruntime
import pytest
from PIL import Image

import onward
from program import onward_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits-test.npz"
LINE = onward.parse("""
<ir_version: 8, opset_import: ["" : 17]>
line (float[N,1] x) => (float[N,1] y) <float[1,1] w = full(0.5), float[1] b = full(0)> { y = Gemm(x, w, b) }
""")
X = np.arange(1, 6, dtype=np.float32).reshape(5, 1)
BATCH = {"x": X, "label": 2 * X}


def classifier():
    """Untrained, so that its loss tells every example from every other."""
    model = onward.parse("""
<ir_version: 8, opset_import: ["" : 17]>
digits (float[N,1,8,8] image) => (float[N,10] scores) <float[64,10] w = normal(1, 0.5), float[10] b = normal(2, 0.5)>
{ flat = Flatten(image)  scores = Gemm(flat, w, b) }
""")
    return onward.prepare(model, loss="softmax_cross_entropy")


def trainable(**settings):
    return onward.prepare(LINE, loss="mse", optimizer="adam", lr=0.1, train=["w", "b"], **settings)


def program(*arguments):
    done = onward_program(*[str(each) for each in arguments])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("data", [str(DIGITS), DIGITS, dict(np.load(DIGITS)), np.load(DIGITS)],
                         ids=["text", "path", "arrays", "npz"])
def test_evaluate_is_that_of_the_command_line(data, tmp_path):
    model = classifier()
    model.save(tmp_path / "digits.onnx")
    told = json.loads(program("eval", tmp_path / "digits.onnx", "--data", DIGITS, "--batch-size", 50, "--json"))
    found = onward.evaluate(model, data, batch_size=50)
    assert found.examples == told["examples"] == 359
    assert found.loss == told["loss"] and found.losses == told["losses"] and found.accuracy == told["accuracy"]
    assert repr(found) == f"<onward.Evaluation of 359 examples: loss {found.loss:.4g}, accuracy {100 * found.accuracy:.2f} %>"


def test_evaluate_gives_the_metrics_of_the_command_line(tmp_path):
    model = classifier()
    model.save(tmp_path / "digits.onnx")
    names = ["f1", "top-3", "confusion", "auc", "accuracy"]
    told = json.loads(program("eval", tmp_path / "digits.onnx", "--data", DIGITS, "--metrics", ",".join(names), "--json"))
    found = onward.evaluate(model, DIGITS, metrics=names)
    assert found.metrics == told["metrics"] | {"accuracy": told["accuracy"]} and found.confusion == told["confusion"]
    assert set(found.metrics) == {"f1", "top-3", "auc", "accuracy"} and found.missing == {}
    assert onward.evaluate(model, DIGITS).confusion is None
    one = {name: array[:1] for name, array in np.load(DIGITS).items()}
    assert onward.Trainer(model).evaluate(one, metrics=["auc"]).missing.keys() == {"auc"}
    with pytest.raises(onward.Error, match="unknown metric 'f2': did you mean 'f1'"):
        onward.evaluate(model, DIGITS, metrics=["f2"])
    with pytest.raises(onward.Error, match="'mse' does not fit a model that scores classes"):
        onward.evaluate(model, DIGITS, metrics=["mse"])


def test_evaluate_reads_images(tmp_path):
    """With what the model's training has kept of them: classes by name, though one has no images here."""
    for i in range(9):
        folder = tmp_path / "images" / "abc"[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (9, 12), np.uint8)).save(folder / f"{i}.png")
    classifier().save(tmp_path / "model.onnx")
    program("train", tmp_path / "model.onnx", "--data", tmp_path / "images", "--mean", 0.25, "-o", tmp_path / "trained.onnx")
    (tmp_path / "images/a").rename(tmp_path / "a")
    told = json.loads(program("eval", tmp_path / "trained.onnx", "--data", tmp_path / "images", "--json"))
    found = onward.evaluate(onward.load(tmp_path / "trained.onnx"), str(tmp_path / "images"))
    assert (found.examples, found.loss, found.accuracy) == (6, told["loss"], told["accuracy"])


def test_evaluate_means_the_state_that_a_trainer_has():
    trainer = onward.Trainer(trainable())
    before = trainer.evaluate(BATCH)
    assert before.accuracy is None and np.isclose(before.loss, np.mean((0.5 * X - 2 * X) ** 2))
    for _ in range(5):
        trainer.step(BATCH)
    kept, steps = trainer.state(), trainer.steps
    assert trainer.evaluate(BATCH, batch_size=2).loss < before.loss
    assert trainer.steps == steps and all(np.array_equal(kept[name], each) for name, each in trainer.state().items())
    assert trainer.evaluate(BATCH).loss == onward.evaluate(trainer.model, BATCH).loss


def test_evaluate_has_the_options_of_the_command_line():
    model = trainable()
    renamed = {"numbers": X, "label": 2 * X}
    assert onward.evaluate(model, renamed, feed={"x": "numbers"}, threads=1, info=0).loss == onward.evaluate(model, BATCH).loss
    gan = onward.load(ROOT / "examples/training/gan.onnxtxt")
    random = np.random.default_rng(0)
    data = {"noise": random.normal(size=(32, 8)).astype(np.float32), "real": random.normal(size=(32, 2)).astype(np.float32)}
    both = onward.evaluate(gan, data)
    assert both.losses.keys() == {"d_loss", "g_loss"} and both.loss is None
    alone = onward.evaluate(gan, data, info=1)
    assert alone.losses == {"g_loss": both.losses["g_loss"]} and alone.loss == both.losses["g_loss"]


@pytest.mark.parametrize("data, options, error, message", [
    ([1], {}, TypeError, "data is a path, or arrays by name, not list"),
    (None, {}, TypeError, "NoneType"),
    ({1: X}, {}, TypeError, "the name of an array is a str, not int"),
    ("nowhere.npz", {}, onward.Error, "nowhere.npz"),
    ({"x": X}, {}, onward.Error, "label"),
    (BATCH, {"batch_size": 0}, onward.Error, "batch size is 0"),
    (BATCH, {"info": 1}, onward.Error, "there is no training info 1: the model has 1"),
    (BATCH, {"info": -1}, TypeError, "info"),
    (BATCH, {"feed": {"y": "x"}}, onward.Error, "no input 'y'"),
    (BATCH, {"threads": -1}, onward.Error, "threads"),
])
def test_evaluate_refuses(data, options, error, message):
    with pytest.raises(error, match=message):
        onward.evaluate(trainable(), data, **options)


def test_evaluate_can_be_interrupted():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    def minutes_of_work():
        return {"x": np.zeros((20_000_000, 1), np.float32), "label": np.zeros((20_000_000, 1), np.float32)}

    data, trainer = minutes_of_work(), onward.Trainer(trainable())
    handler = signal.signal(signal.SIGALRM, ring)
    start = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            trainer.evaluate(data, batch_size=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert time.monotonic() - start < 20
    assert trainer.evaluate(BATCH).examples == 5  # and nothing is locked


def test_lower_is_that_of_the_command_line(tmp_path):
    model = trainable()
    model.save(tmp_path / "job.onnx")
    program("lower", tmp_path / "job.onnx", "-o", tmp_path / "step.onnx", "--opset", 18)
    step = onward.lower(model, opset=18)
    assert step.to_bytes() == (tmp_path / "step.onnx").read_bytes()
    assert step.opsets[""] == 18 and step.training == [] and step.check() == []
    session = onnxruntime.InferenceSession(step.to_bytes())
    assert np.isclose(session.run(["loss"], BATCH)[0], onward.Trainer(model).step(BATCH)["loss"])


def test_lower_warns_of_random_numbers():
    dropout = onward.parse("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,1] y) <float[4,1] w = full(1), float ratio = {0.5}> { d = Dropout(x, ratio)  y = MatMul(d, w) }
""")
    with pytest.warns(UserWarning, match="Dropout"):
        onward.lower(onward.prepare(dropout, loss="mse", train=["w"]))


@pytest.mark.parametrize("options, message", [
    ({"opset": 12}, "12"),
    ({"info": 1}, "there is no training info 1"),
])
def test_lower_refuses(options, message):
    with pytest.raises(onward.Error, match=message):
        onward.lower(trainable(), **options)


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("to", ["torch", "keras"])
@pytest.mark.parametrize("inference", [False, True])
def test_export_is_that_of_the_command_line(to, inference, tmp_path):
    model = trainable()
    model.save(tmp_path / "an ONNX file")  # what the first lines of the source say where no file has a name
    program("export", tmp_path / "an ONNX file", "--to", to, "-o", tmp_path / "program", *["--inference"] * inference)
    written = onward.export(model, to=to, output=tmp_path / "python", inference=inference)
    assert written == tmp_path / "python/model.py"
    assert files(tmp_path / "python") == files(tmp_path / "program")
    assert ("optimizer.safetensors" in files(tmp_path / "python")) == (not inference)


def test_weights_come_back_from_an_export(tmp_path):
    trainer = onward.Trainer(trainable())
    for _ in range(3):
        trainer.step(BATCH)
    onward.export(trainer.model, to="torch", output=str(tmp_path))
    untrained = trainable()
    back = onward.import_weights(tmp_path, untrained)
    assert float(onward.Trainer(back).step(BATCH)["loss"]) == float(trainer.step(BATCH)["loss"])
    assert untrained.parameters["w"] == 0.5  # a Model never changes
    with pytest.raises(onward.Error, match="onward.json"):
        onward.import_weights(tmp_path / "nowhere", untrained)


@pytest.mark.parametrize("options, message", [
    ({"to": "caffe"}, "caffe"),
    ({"to": "torch", "info": 1}, "there is no training info 1: the model has 1"),
    ({"to": "torch", "info": 0, "inference": True}, "of inference alone"),
])
def test_export_refuses(options, message, tmp_path):
    with pytest.raises(onward.Error, match=message):
        onward.export(trainable(), output=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_export_of_several_training_infos_wants_one(tmp_path):
    gan = onward.load(ROOT / "examples/training/gan.onnxtxt")
    with pytest.raises(onward.Error, match="2 training infos: choose one"):
        onward.export(gan, to="torch", output=tmp_path)
