"""The example training files: what `onward example` writes is valid by ONNX's own checker, alone and
with each algorithm appended, and computes what its comment says."""

import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "examples" / "training").glob("*.onnxtxt"))
ALL_FILES = sorted((ROOT / "examples").glob("*/*.onnxtxt"))
NAMES = [file.stem for file in FILES]
TRAINING = "ai.onnx.preview.training"


def onward(*arguments):
    return subprocess.run([os.environ["ONWARD"], *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "new" / "folder"
    result = onward("example", "--all", "-o", folder)
    assert result.returncode == 0, result.stderr
    assert sorted(file.stem for file in folder.iterdir()) == sorted(file.stem for file in ALL_FILES)
    return {name: onnx.load(folder / f"{name}.onnx") for name in NAMES}


def inference_part(model):
    part = onnx.ModelProto()
    part.CopyFrom(model)
    del part.training_info[:]
    return part


def step(model, info, nodes=None, outputs=None):
    """Inference graph and algorithm as one plain graph, as the standard defines a training step."""
    graph, algorithm = model.graph, info.algorithm
    merged = helper.make_graph(
        list(graph.node) + list(algorithm.node if nodes is None else nodes),
        "step",
        list(graph.input) + list(algorithm.input),
        (list(graph.output) + list(algorithm.output)) if outputs is None else outputs,
        list(graph.initializer) + list(algorithm.initializer),
        value_info=list(graph.value_info) + list(algorithm.value_info),
    )
    return helper.make_model(merged, opset_imports=model.opset_import, functions=model.functions,
                             ir_version=model.ir_version)


def loss_of(model, info, feeds):
    """The loss of one step, by ONNX's reference evaluator, which knows no Gradient."""
    before = []
    for node in info.algorithm.node:
        if node.op_type == "Gradient":
            (y,) = [a.s.decode() for a in node.attribute if a.name == "y"]
            break
        before.append(node)
    output = [o for o in info.algorithm.output if o.name == y]
    return ReferenceEvaluator(step(model, info, before, output)).run(None, feeds)[0]


def test_the_required_examples_are_there():
    assert {"linear", "logistic", "cnn", "loss-subgraph", "clipped", "gan", "initialized",
            "bound-input"} <= set(NAMES)


def test_list_has_one_line_each():
    lines = onward("example").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [file.stem for file in ALL_FILES]
    for line, file in zip(lines, ALL_FILES):
        assert line.split(maxsplit=1)[1] == file.read_text().splitlines()[0].removeprefix("# ")
        assert len(line) <= 110


@pytest.mark.parametrize("file", ALL_FILES, ids=lambda file: file.stem)
def test_prints_its_text(file):
    assert onward("example", file.stem).stdout == file.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_inference_part_passes_onnx_checker(models, name):
    onnx.checker.check_model(inference_part(models[name]), full_check=True)
    onnx.checker.check_model(models[name])


@pytest.mark.parametrize("name", NAMES)
def test_every_step_passes_onnx_checker(models, name):
    for info in models[name].training_info:
        onnx.checker.check_model(step(models[name], info), full_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_follows_the_rules_of_the_standard(models, name):
    model = models[name]
    assert model.ir_version == 8 and model.opset_import[0].version == 17
    assert model.training_info
    initializers = {tensor.name for tensor in model.graph.initializer}
    keys = []
    for info in model.training_info:
        state = initializers | {tensor.name for tensor in info.algorithm.initializer}
        outputs = {value.name for value in [*info.algorithm.output, *model.graph.output]}
        for binding in info.update_binding:
            assert binding.key in state and binding.value in outputs
            keys.append(binding.key)
        assert not info.initialization.input
        for binding in info.initialization_binding:
            assert binding.key in state
            assert binding.value in {value.name for value in info.initialization.output}
        for node in info.algorithm.node:
            if node.op_type != "Gradient":
                continue
            assert node.domain == TRAINING
            named = [x.decode() for a in node.attribute if a.name in ("xs", "zs") for x in a.strings]
            assert list(node.input) == named
        optimizers = {"Adam", "Adagrad", "Momentum"}
        if optimizers & {node.op_type for node in info.algorithm.node}:
            assert any(key.endswith("T") for key in (b.key for b in info.update_binding))
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", NAMES)
def test_onward_check_finds_nothing(tmp_path, name):
    file = tmp_path / "model.onnx"
    assert onward("example", name, "-o", file).returncode == 0
    for model in (file, ROOT / "examples" / "training" / f"{name}.onnxtxt"):
        result = onward("check", model)
        assert (result.returncode, result.stdout) == (0, f"{model}: valid\n")


def test_the_same_file_every_time(tmp_path):
    for file in ("a.onnx", "b.onnx"):
        onward("example", "cnn", "-o", tmp_path / file)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_cnn_takes_any_batch_and_starts_near_chance(models):
    model = models["cnn"]
    image = np.random.default_rng(0).random((5, 1, 28, 28), dtype=np.float32)
    feeds = {"image": image, "label": np.arange(5)}
    loss = loss_of(model, model.training_info[0], feeds)
    assert loss.shape == () and 1.5 < loss < 4  # chance is log(10) = 2.3
    sizes = [np.prod(tensor.dims) for tensor in model.graph.initializer]
    assert sum(sizes) == 105_866


def test_linear_takes_the_mean_of_squares(models):
    model = models["linear"]
    x = np.float32([[1], [2], [3]])
    label = np.float32([[1], [-1], [4]])
    loss = loss_of(model, model.training_info[0], {"x": x, "label": label})
    assert loss == np.mean(label**2)  # w and b are 0
    rate = [t for t in model.training_info[0].algorithm.initializer if t.name == "R"][0]
    assert onnx.numpy_helper.to_array(rate) == np.float32(0.2)


@pytest.mark.parametrize("robust", [True, False])
def test_the_loss_subgraph_is_hubers_or_the_mean_of_squares(models, robust):
    model = models["loss-subgraph"]
    random = np.random.default_rng(0)
    x = random.normal(size=(6, 8)).astype(np.float32)
    label = random.normal(scale=4, size=(6, 1)).astype(np.float32)
    loss = loss_of(model, model.training_info[0],
                   {"x": x, "label": label, "robust": np.array(robust)})
    y = ReferenceEvaluator(inference_part(model)).run(None, {"x": x})[0]
    error, delta = np.abs(label - y), 1.5
    huber = np.where(error <= delta, error**2 / 2, delta * (error - delta / 2))
    assert (error > delta).any() and (error < delta).any()
    np.testing.assert_allclose(loss, np.mean(huber if robust else error**2), rtol=1e-6)


def test_gan_trains_each_network_by_its_own_info(models):
    model = models["gan"]
    discriminator, generator = model.training_info
    assert {b.key[:2] for b in discriminator.update_binding} == {"d_"}
    assert {b.key[:2] for b in generator.update_binding} == {"g_"}
    random = np.random.default_rng(0)
    noise = random.normal(size=(4, 8)).astype(np.float32)
    real = random.normal(size=(4, 2)).astype(np.float32)
    assert loss_of(model, discriminator, {"noise": noise, "real": real}) > 0
    assert loss_of(model, generator, {"noise": noise}) > 0


def test_initialization_draws_weights_and_resets_the_rest(models):
    model = models["initialized"]
    info = model.training_info[0]
    graph = helper.make_model(info.initialization, opset_imports=model.opset_import, ir_version=8)
    onnx.checker.check_model(graph, full_check=True)
    drawn = dict(zip([o.name for o in info.initialization.output],
                     ReferenceEvaluator(graph).run(None, {})))
    weight = drawn.pop("weight_start")
    assert weight.shape == (20, 5) and 0.15 < weight.std() < 0.3
    for value in drawn.values():
        assert not value.any()


def test_draft_of_the_linear_example(tmp_path):
    file = tmp_path / "draft.onnx"
    assert onward("example", "linear", "--draft", "-o", file).returncode == 0
    draft = onnx.load(file)
    assert (draft.ir_version, draft.opset_import[0].version) == (3, 9)
    assert not draft.training_info and not draft.functions
    assert [node.op_type for node in draft.graph.node] == ["MyInferenceFunction"]
    result = onward("check", file)
    assert (result.returncode, result.stdout) == (0, f"{file}: valid\n")
    shown = onward("show", file).stdout
    assert "R = 0.2" in shown and "Adagrad" in shown


@pytest.mark.parametrize("arguments, message", [
    (["nowhere"], "unknown example 'nowhere'"),
    (["cnn", "--draft", "-o", "{}/x.onnx"], "2019 draft format cannot express"),
    (["gan", "--draft", "-o", "{}/x.onnx"], "2019 draft format holds one training info"),
    (["linear", "-o", "{}/no/such/folder/x.onnx"], "{}/no/such/folder"),
    (["linear", "--draft", "-o", "{}/no/such/folder/x.onnx"], "{}/no/such/folder"),
    (["-o", "{}/x.onnx"], "-o needs the NAME of an example, or --all"),
    (["--all"], "--output"),
    (["linear", "--draft"], "--output"),
    (["linear", "--all", "-o", "{}"], "NAME"),
])
def test_refusals(tmp_path, arguments, message):
    result = onward("example", *[each.format(tmp_path) for each in arguments])
    assert result.returncode == 1
    assert message.format(tmp_path) in result.stderr
    assert list(tmp_path.iterdir()) == []
