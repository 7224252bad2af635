"""`onward prepare` on the command line: what it writes is valid by ONNX's own checker, it says what it
decided, and it refuses in one sentence."""

import json
import os
import subprocess

import numpy as np
import onnx
import pytest
import training_job as job
from onnx import helper
from onnx.reference import ReferenceEvaluator

OPTIMIZERS = ["sgd", "momentum", "nesterov", "adam", "adamw", "adagrad"]
FORMULAS = ["torch", "keras", "onnx"]


def run(*arguments):
    return subprocess.run([os.environ["ONWARD"], *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "model.onnx"
    job.write_model(file, job.first_weights(), ends_in_softmax=True)
    return file


def prepare(model, folder, *options):
    out = folder / "training.onnx"
    done = run("prepare", model, "-o", out, "--loss", "softmax_cross_entropy", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout, onnx.load(out)


def joined(model):
    """Inference graph and algorithm as one graph, as a step runs them."""
    step = onnx.ModelProto()
    step.CopyFrom(model)
    del step.training_info[:]
    algorithm = model.training_info[0].algorithm
    for field in ("node", "initializer", "input", "value_info"):
        getattr(step.graph, field).extend(getattr(algorithm, field))
    del step.graph.output[:]
    step.graph.output.extend(algorithm.output)
    return step


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("mode", ["frozen", "batch"])
def test_result_is_valid(model, tmp_path, optimizer, formula, mode):
    _, training = prepare(model, tmp_path, "--optimizer", optimizer, "--formula", formula, "--bn", mode)
    assert run("check", tmp_path / "training.onnx").stdout.strip().endswith(": valid")
    onnx.checker.check_model(training, full_check=True)
    onnx.checker.check_model(joined(training), full_check=True)
    assert training.ir_version == 8
    assert {o.domain: o.version for o in training.opset_import} == {"": 17, "ai.onnx.preview.training": 1}


def test_inference_is_unchanged(model, tmp_path):
    _, training = prepare(model, tmp_path, "--bn", "batch")
    x = np.random.default_rng(1).standard_normal((2, 1, 8, 8))
    before, = ReferenceEvaluator(onnx.load(model)).run(None, {"x": x})
    del training.training_info[:]
    after, = ReferenceEvaluator(training).run(None, {"x": x})
    np.testing.assert_array_equal(before, after)


def test_every_decision_is_printed(model, tmp_path):
    text, _ = prepare(model, tmp_path, "--freeze", "conv.*")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[:5] == [
        "trained (4 tensors, 193 parameters)",
        "bn.weight f64[4] scale of BatchNormalization 'bn'",
        "bn.bias f64[4] bias of BatchNormalization 'bn'",
        "fc.weight f64[5,36] weight of Gemm 'logits'",
        "fc.bias f64[5] bias of Gemm 'logits'",
    ]
    assert "conv.weight f64[4,1,3,3] --freeze conv.*, weight of Conv 'conv'" in lines
    assert "bn.running_var f64[4] running variance of BatchNormalization 'bn', a statistic" in lines
    assert any(line.startswith("note: the loss is computed from the logits 'logits', before the Softmax") for line in lines)
    assert lines[-1].endswith("a training step takes x f64[N,1,8,8], label i64[N] and returns loss")


def test_json(model, tmp_path):
    text, _ = prepare(model, tmp_path, "--json")
    said = json.loads(text)
    trained = {tensor["name"] for tensor in said["tensors"] if tensor["trained"]}
    assert trained == {"conv.weight", "bn.weight", "bn.bias", "fc.weight", "fc.bias"}
    assert said["inputs"][1] == {"name": "label", "type": "i64[N]"}
    assert said["loss"] == "loss"
    assert said["opset"] == 17


def test_loss_from_a_file(model, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Sub", ["probabilities", "target"], ["d"]),
         helper.make_node("Abs", ["d"], ["e"]),
         helper.make_node("ReduceMean", ["e"], ["distance"], keepdims=0)],
        "loss",
        [helper.make_tensor_value_info("probabilities", onnx.TensorProto.DOUBLE, ["N", 5]),
         helper.make_tensor_value_info("target", onnx.TensorProto.DOUBLE, ["N", 5])],
        [helper.make_tensor_value_info("distance", onnx.TensorProto.DOUBLE, [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "loss.onnx")
    done = run("prepare", model, "-o", tmp_path / "t.onnx", "--loss", tmp_path / "loss.onnx")
    assert done.returncode == 0, done.stderr
    algorithm = onnx.load(tmp_path / "t.onnx").training_info[0].algorithm
    assert [value.name for value in algorithm.input] == ["target"]
    assert algorithm.output[0].name == "distance"


REFUSALS = {
    "a group without settings": (["--loss", "mse", "--group", "head.*"],
                                 "--group expects PATTERN:SETTING=NUMBER, such as 'head.*:lr=0.1,weight_decay=0', not 'head.*'"),
    "a group's setting without a number": (["--loss", "mse", "--group", "head.*:lr"], "--group expects PATTERN"),
    "class weights that are no numbers": (["--loss", "mse", "--class-weights", "1;2"], "--class-weights expects numbers"),
    "unknown loss": (["--loss", "dice"], "unknown loss 'dice'"),
    "loss file is missing": (["--loss", "nowhere.onnx"], "nowhere.onnx"),
    "loss needs a file": (["--loss", "custom"], "a custom loss is an ONNX model"),
    "unknown output": (["--loss", "mse", "--model-output", "scores"],
                       "the model has no output 'scores': it has 'probabilities'"),
    "idle pattern": (["--loss", "mse", "--train", "head*"], "the pattern 'head*' matches no tensor"),
    "unknown optimizer": (["--loss", "mse", "--optimizer", "lion"], "lion"),
    "bad number": (["--loss", "mse", "--lr", "-1"], "lr must be a finite number of at least 0, not -1"),
    "folder is missing": (["--loss", "mse", "-o", "/nowhere/at/all.onnx"], "/nowhere/at"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(model, tmp_path, name):
    options, message = REFUSALS[name]
    out = [] if "-o" in options else ["-o", tmp_path / "out.onnx"]
    done = run("prepare", model, *options, *out)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "out.onnx").exists()


UNTRAINABLE = """<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[N,2] x) => (float[N,3] y) <float[2,3] w = full(1)> {
  h = MatMul(x, w) p = com.example.Pool(h) y = Add(h, p)
}
"""


def test_what_can_t_be_trained_is_written_by_force_only(tmp_path):
    model, out = tmp_path / "model.onnxtxt", tmp_path / "training.onnx"
    model.write_text(UNTRAINABLE)
    arguments = ["prepare", model, "-o", out, "--loss", "mse", "--train", "w"]
    refused = run(*arguments)
    assert refused.returncode == 1 and "no kernel for com.example.Pool (node 'p') yet" in refused.stderr
    assert not out.exists()
    forced = run(*arguments, "--force")
    assert forced.returncode == 0, forced.stderr
    assert "note: Onward cannot train this model: no kernel for com.example.Pool (node 'p') yet" in forced.stdout
    assert run("check", out).returncode == 0


def test_help_has_an_example():
    done = run("prepare", "--help")
    assert done.returncode == 0
    assert "Example: onward prepare" in done.stdout


@pytest.mark.parametrize("formula, shown", [
    ("torch", "optimizer  adam as in PyTorch: lr = 0.002, weight_decay = 0.0, beta1 = 0.9"),
    ("keras", "optimizer  adam as in Keras: lr = 0.002, weight_decay = 0.0, beta1 = 0.9"),
])
def test_show_names_loss_and_optimizer(model, tmp_path, formula, shown):
    out = tmp_path / "t.onnx"
    assert run("prepare", model, "-o", out, "--loss", "softmax_cross_entropy", "--formula", formula, "--lr", "0.002").returncode == 0
    text = run("show", out).stdout
    assert "(softmax_cross_entropy, mean)" in text and shown in text
    recipe = json.loads(run("show", out, "--json").stdout)["training"][0]["recipe"]
    assert (recipe["optimizer"], recipe["formula"], recipe["settings"]["lr"]) == ("adam", formula, 0.002)
