"""onward.prepare makes an inference model trainable."""

import re

import numpy as np
import onnxruntime
import pytest

import onward
from program import onward_program

MLP = """
<ir_version: 8, opset_import: ["" : 17]>
mlp (float[N,4] x) => (float[N,3] logits) <
  float[4,8] w1 = normal(1, 0.5), float[8] b1 = full(0), float[8,3] w2 = normal(2, 0.5), float[3] b2 = full(0)
> { a = Gemm(x, w1, b1)  h = Relu(a)  logits = Gemm(h, w2, b2) }
"""
RANDOM = np.random.default_rng(0)
BATCH = {"x": RANDOM.normal(size=(6, 4)).astype(np.float32), "label": np.array([0, 1, 2, 0, 1, 2])}


@pytest.fixture
def mlp():
    return onward.parse(MLP)


def losses(model, steps=30):
    trainer = onward.Trainer(model)
    return [float(trainer.step(BATCH)["loss"]) for _ in range(steps)]


@pytest.mark.parametrize("formula", ["torch", "keras", "onnx"])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "nesterov", "adam", "adamw", "adagrad"])
def test_every_optimizer_learns(mlp, optimizer, formula):
    model = onward.prepare(mlp, loss="softmax_cross_entropy", optimizer=optimizer, formula=formula, lr=0.02)
    assert model.check() == []
    assert set(model.parameters) == {"w1", "b1", "w2", "b2"}
    learned = losses(model)
    assert learned[-1] < learned[0]
    assert mlp.training == []


def test_patterns(mlp):
    model = onward.prepare(mlp, loss="softmax_cross_entropy", freeze=["*"], train=["w2", "b2"])
    assert set(model.parameters) == {"w2", "b2"}


def test_a_loss_of_one_s_own(mlp):
    loss = onward.parse("""<ir_version: 8, opset_import: ["" : 17]>
        mean_error (float[N,3] logits, float[N,3] wanted) => (float loss)
        { d = Sub(logits, wanted)  a = Abs(d)  loss = ReduceMean<keepdims = 0>(a) }""")
    model = onward.prepare(mlp, loss=loss, optimizer="sgd", lr=0.1)
    trainer = onward.Trainer(model)
    batch = {"x": BATCH["x"], "wanted": np.zeros((6, 3), np.float32)}
    expected = np.abs(trainer.infer({"x": BATCH["x"]})["logits"]).mean()
    assert np.allclose(trainer.step(batch)["loss"], expected, rtol=1e-6)


@pytest.mark.parametrize("options, message", [
    ({"loss": "dice"}, "dice"),
    ({"loss": "mse", "optimizer": "lbfgs"}, "lbfgs"),
    ({"loss": "mse", "lrr": 0.1}, "unknown optimizer setting 'lrr': did you mean 'lr'?"),
    ({"loss": "mse", "train": ["nobody"]}, "nobody"),
    ({"loss": "mse", "model_output": "nobody"}, "nobody"),
    ({"loss": "mse", "output": "nobody"}, "nobody"),
    ({"loss": "mse", "output": "y", "model_output": "y"}, "output is the former name of model_output"),
])
def test_wrong_options_are_refused(mlp, options, message):
    with pytest.raises(onward.Error, match=message):
        onward.prepare(mlp, **options)


@pytest.mark.parametrize("taken", ["label", "loss", "learning_rate", "step"])
def test_names_give_way_and_are_told(taken):
    """A model may have the name of something that a step adds: the training info says what that is called instead."""
    model = onward.parse(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        line (float[N,1] {taken}) => (float[N,1] y) <float[1,1] w = full(1)> {{ y = MatMul({taken}, w) }}
    """)
    prepared = onward.prepare(model, loss="mse", optimizer="adam", train=["w"])
    info = prepared.training[0]
    assert set(info.names) == {"label", "loss", "learning_rate", "step"}
    assert info.names[taken] != taken
    assert all(name == role for role, name in info.names.items() if role != taken)
    x = np.ones((2, 1), np.float32)
    trainer = onward.Trainer(prepared)
    assert trainer.step({taken: x, info.names["label"]: 3 * x})[info.names["loss"]] == 4
    assert trainer.state()[info.names["step"]] == 1
    assert set(info.slots["w"]) == {"exp_avg", "exp_avg_sq"}
    assert np.isclose(trainer.state()[info.slots["w"]["exp_avg"]], -0.4)


def test_what_can_t_be_trained_is_prepared_by_force_only():
    model = onward.parse("""<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[N,2] x) => (float[N,3] y) <float[2,3] w = full(1)> {
  h = MatMul(x, w) p = com.example.Pool(h) y = Add(h, p)
}""")
    with pytest.raises(onward.Error, match="no kernel for com.example.Pool"):
        onward.prepare(model, loss="mse", train=["w"])
    assert len(onward.prepare(model, loss="mse", train=["w"], force=True).training) == 1


ALL = {"lr", "weight_decay", "momentum", "dampening", "beta1", "beta2", "epsilon", "lr_decay", "initial_accumulator"}
ADAM = {"beta1", "beta2", "epsilon"}
OWN = {"sgd": set(), "momentum": {"momentum", "dampening"}, "nesterov": {"momentum"}, "adam": ADAM, "adamw": ADAM,
       "adagrad": {"epsilon", "lr_decay", "initial_accumulator"}}
KERAS_LACKS = {"dampening", "lr_decay"}
ONNX_HAS = {("nesterov", "onnx"): {"dampening"}}
ONNX_LACKS = {("sgd", "onnx"): {"weight_decay"}}


@pytest.mark.parametrize("formula", ["torch", "keras", "onnx"])
@pytest.mark.parametrize("optimizer", OWN)
def test_numbers_of_other_optimizers_are_refused_by_name(mlp, optimizer, formula):
    own = OWN[optimizer] | {"lr", "weight_decay"}
    if formula == "keras":
        own -= KERAS_LACKS
    own |= ONNX_HAS.get((optimizer, formula), set())
    own -= ONNX_LACKS.get((optimizer, formula), set())
    for name in sorted(ALL):
        settings = {"loss": "softmax_cross_entropy", "optimizer": optimizer, "formula": formula}
        option = "--" + name.replace("_", "-")
        if name in own:
            value = 0 if name == "weight_decay" else 0.25
            onward.prepare(mlp, **settings, **{name: value})
            continue
        message = f"{optimizer} ({formula} formula) has no setting {name}: it has lr"
        with pytest.raises(onward.Error, match=re.escape(message)):
            onward.prepare(mlp, **settings, **{name: 0.25})
        result = onward_program("prepare", "no.onnx", "-o", "out.onnx", "--loss", "mse", "--optimizer", optimizer,
                                "--formula", formula, option, "0.25")
        assert result.returncode == 1 and message in result.stderr


@pytest.mark.parametrize("options, message", [
    ({"loss": "mse", "ignore_index": 1}, "ignore_index applies to softmax_cross_entropy, nll only"),
    ({"loss": "softmax_cross_entropy", "batch_momentum": 0.9}, "batch_momentum has no effect"),
    ({"loss": "softmax_cross_entropy", "batch_norm": "batch", "batch_momentum": 0.9}, "the loss depends on no BatchNormalization"),
    ({"loss": "softmax_cross_entropy", "batch_variance": "unbiased"}, "unbiased batch_variance has no effect"),
])
def test_settings_that_would_change_nothing_are_refused_by_name(mlp, options, message):
    with pytest.raises(onward.Error, match=message):
        onward.prepare(mlp, **options)


def test_schedule_clipping_and_groups(mlp):
    """What the command line has as options; tests/recipe compares the steps with the frameworks'."""
    model = onward.prepare(mlp, loss="softmax_cross_entropy", label_smoothing=0.1, class_weights=[1, 2, 3], optimizer="adamw",
                           lr=0.02, schedule="cosine", schedule_steps=30, warmup_steps=2, clip_norm=1.0,
                           groups={"w2": {"lr": 0.05, "beta1": 0.8}}, decay_biases=False)
    learned = losses(model)
    assert learned[0] == learned[1]  # the rate of the first step is 0
    assert learned[-1] < learned[0]
    assert float(model.state["learning_rate.1"]) == 0.05
    assert int(model.state["schedule_steps"]) == 30
    averaged = onward.prepare(mlp, loss="softmax_cross_entropy", ema=0.5)
    trainer = onward.Trainer(averaged)
    trainer.step(BATCH)
    moved = trainer.model.with_tensors({name: trainer.model.state[name + ".ema"] for name in averaged.parameters})
    assert all(np.array_equal(moved.parameters[name], trainer.model.parameters[name]) for name in averaged.parameters)
    trainer = onward.Trainer(model)
    trainer.set_state({"schedule_steps": np.array(20)})
    assert int(trainer.state()["schedule_steps"]) == 20
    with pytest.raises(onward.Error, match="clip_norm and clip_value exclude each other"):
        onward.prepare(mlp, loss="mse", clip_norm=1.0, clip_value=1.0)


@pytest.mark.parametrize("formula", ["torch", "onnx"])
def test_a_backend_of_keras_is_of_its_formula(formula):
    result = onward_program("prepare", "no.onnx", "-o", "out.onnx", "--loss", "mse", "--formula", formula,
                            "--keras-backend", "jax")
    assert result.returncode == 1 and "--keras-backend applies to Keras's formulas only" in result.stderr


# Two branches and the body of a loop hold weights; two of them have the same name.
BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,4] x) => (float[N,3] logits) {
  total = ReduceSum<keepdims = 0>(x)
  zero = Constant<value = float {0}>()
  c = Greater(total, zero)
  h = If<then_branch = yes () => (float[N,4] a) <float[4,4] w = {%s}> { a = MatMul(x, w) },
         else_branch = no () => (float[N,4] b) <float[4,4] w = {%s}> { m = MatMul(x, w)  b = Tanh(m) }>(c)
  trips = Constant<value = int64 {2}>()
  r = Loop<body = again (int64 i, bool go, float[N,4] s) => (bool on, float[N,4] t) {
    on = Identity(go)  k = Constant<value = float[4] {1, 2, 3, 4}>()  u = Constant<value = float[4,4] {%s}>()
    p = MatMul(s, u)  q = Add(p, k)  t = Tanh(q) }>(trips, , h)
  v = Constant<value = float[4,3] {%s}>()
  logits = MatMul(r, v)
}
"""


def numbers(count):
    return ", ".join(f"{number:.3f}" for number in RANDOM.normal(0, 0.5, count))


def test_weights_inside_of_branches_and_loops_are_trained():
    inference = onward.parse(BRANCHES % (numbers(16), numbers(16), numbers(16), numbers(12)))
    model = onward.prepare(inference, loss="softmax_cross_entropy", optimizer="sgd", lr=0.1)
    assert model.check() == []
    assert set(model.parameters) == {"w", "w_2", "u", "k", "v"}
    trainer = onward.Trainer(model)
    for sign in (1, -1):  # each branch learns what it holds
        batch = BATCH | {"x": sign * np.abs(BATCH["x"])}
        np.testing.assert_array_equal(trainer.infer({"x": batch["x"]})["logits"],
                                      onward.Trainer(inference).infer({"x": batch["x"]})["logits"])
        gradients = trainer.gradients(batch)
        assert np.any(gradients["w"]) == (sign == 1) and np.any(gradients["w_2"]) == (sign == -1)
        assert all(np.any(gradients[name]) for name in ("u", "k", "v"))
    learned = losses(model)
    assert learned[-1] < learned[0]


def test_other_runtimes_run_what_held_weights_inside(tmp_path):
    model = onward.prepare(onward.parse(BRANCHES % (numbers(16), numbers(16), numbers(16), numbers(12))), loss="mse")
    model.save(tmp_path / "training.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "training.onnx", providers=["CPUExecutionProvider"])
    for x in (BATCH["x"], -BATCH["x"]):
        np.testing.assert_allclose(session.run(None, {"x": x})[0], onward.Trainer(model).infer({"x": x})["logits"],
                                   rtol=1e-5, atol=1e-6)


def test_another_classifier(mlp):
    model = onward.prepare(mlp, loss="softmax_cross_entropy", classes=5, head_seed=3, labels=list("abcde"), freeze_backbone=True)
    assert set(model.parameters) == {"w2", "b2"}
    assert model.parameters["w2"].shape == (8, 5) and model.parameters["b2"].shape == (5,)
    again = onward.prepare(mlp, loss="softmax_cross_entropy", classes=5, head_seed=3)
    assert np.array_equal(model.parameters["w2"], again.parameters["w2"]) and np.abs(again.parameters["w2"]).max() <= 1 / np.sqrt(8)
    assert onward.Trainer(model).infer({"x": BATCH["x"]})["logits"].shape == (6, 5)
    assert losses(model)[-1] < losses(model)[0]


def test_a_head_that_is_a_model(mlp):
    head = onward.parse("""<ir_version: 8, opset_import: ["" : 17]>
        head (float[N,8] h) => (float[N,2] kinds) <float[8,2] w = normal(4, 0.5)> { kinds = MatMul(h, w) }""")
    model = onward.prepare(mlp, loss="softmax_cross_entropy", head=head)
    assert set(model.parameters) == {"w1", "b1", "w"}
    assert onward.Trainer(model).infer({"x": BATCH["x"]})["kinds"].shape == (6, 2)


def test_a_fixed_batch_is_opened_unless_it_is_to_stay():
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,4] x) => (float[2,3] y) <float[4,3] w = normal(1, 1)> { y = MatMul(x, w) }"""
    x = np.ones((5, 4), np.float32)
    assert onward.Trainer(onward.prepare(onward.parse(text), loss="mse")).infer({"x": x})["y"].shape == (5, 3)
    with pytest.raises(onward.Error, match="x"):
        onward.Trainer(onward.prepare(onward.parse(text), loss="mse", keep_batch=True)).infer({"x": x})


@pytest.mark.parametrize("options, message", [
    ({"classes": 0}, "the number of classes must be from 1"),
    ({"head_seed": 1}, "--head-seed has no effect without --classes"),
    ({"labels": ["a", "b"]}, "there are names for 2 classes, but the model has scores for 3"),
    ({"labels": ["a", "a", "b"]}, "two classes are named 'a'"),
])
def test_classifiers_that_are_refused(mlp, options, message):
    with pytest.raises(onward.Error, match=re.escape(message)):
        onward.prepare(mlp, loss="softmax_cross_entropy", **options)
