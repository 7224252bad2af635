"""A step that is not finite names the node that made it so, in three lines."""

import numpy as np
import pytest

from program import done, onward, state

HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>'


def training(folder, body, w=1.0, shape="[N]", rate=1.0):
    """A model y = body(x, w), and steps that make the mean of y smaller."""
    (folder / "m.onnxtxt").write_text(f"""
{HEAD}
g (float{shape} x) => (float{shape} y) <float w = {{{w}}}>
{{
  {body}
}}
training_info {{
  algorithm step () => (float loss, float w_new) <float rate = {{{rate}}}>
  {{
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    change = Mul(dw, rate)
    w_new = Sub(w, change)
  }}
  update_binding {{
    w <- w_new
  }}
}}
""")
    return folder / "m.onnxtxt"


def refused(folder, model, x, *options):
    np.savez(folder / "d.npz", x=np.array(x, np.float32))
    result = onward("train", model, "--data", folder / "d.npz", "-o", folder / "t.onnx", *options)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    return lines


@pytest.mark.parametrize("body, x, node, advice", [
    ("p = Mul(x, w) y = Log(p)", [1, 0.5, 0], "(Log) made infinity first, of 'p' from 0 to 1; a logarithm of 0", ""),
    ("p = Mul(x, w) y = Log(p)", [1, -2], "(Log) made NaN first, of 'p' from -2 to 1; ", "a logarithm of 0 or less"),
    ("p = Mul(x, w) y = Sqrt(p)", [1, -2], "(Sqrt) made NaN first, of 'p' from -2 to 1; ", "a root of a negative"),
    ("p = Mul(x, w) y = Exp(p)", [1, 200], "(Exp) made infinity first, of 'p' from 1 to 200; ", "an exponential overflows"),
    ("p = Mul(x, w) y = Div(w, p)", [1, 0], "(Div) made infinity first, of 'w' 1, 'p' from 0 to 1; ", "a division by 0"),
    ("h = Constant<value_float = -0.5>() p = Mul(x, w) y = Pow(p, h)", [1, 0], "(Pow) made infinity first", "a power of 0"),
    ("p = Mul(x, w) y = Mul(p, p)", [1, 1e30], "(Mul) made infinity first, of 'p' from 1 to 1e+30", "the numbers grow"),
])
def test_names_the_node(tmp_path, body, x, node, advice):
    lines = refused(tmp_path, training(tmp_path, body), x)
    assert "'loss' became" in lines[0] and node in lines[1] and advice in lines[1], lines
    assert "in step 1 (epoch 1)" in lines[2] and len(lines) <= 4, lines


def test_of_a_gradient(tmp_path):
    """The root of 0 is 0, its slope infinite: the loss is finite, the update is not."""
    model = training(tmp_path, "p = Mul(x, w) y = Sqrt(p)")
    lines = refused(tmp_path, model, [0, 1])
    assert "'w' became" in lines[0] and "(Div) made infinity first" in lines[1] and "derivative of a root" in lines[1], lines


def test_a_parameter_that_grew(tmp_path):
    model = training(tmp_path, "p = Mul(x, w) y = Mul(p, p)", rate=1e3)
    lines = refused(tmp_path, model, [1e2, 1e3], "--epochs", 9)
    assert "the parameter 'w' has grown to" in lines[1] and "lower the learning rate" in lines[1], lines
    assert np.isfinite(state(tmp_path / "t.onnx")["w"])  # what was good is there


def test_says_nothing_where_the_data_is_the_cause(tmp_path):
    lines = refused(tmp_path, training(tmp_path, "y = Mul(x, w)"), [1, np.nan])
    assert not any("made" in line for line in lines) and any("the data is not finite" in line for line in lines), lines


def test_changes_nothing(tmp_path):
    """Good steps before it, with random numbers: they are those of a training that ends before it."""
    body = "d, m = Dropout(x, h, t) p = Mul(d, w) y = Log(p)"
    model = training(tmp_path, body, rate=1e-3)
    text = model.read_text().replace("<float w = {1.0}>", "<float w = {1.0}, float h = {0.0}, bool t = {1}>")
    model.write_text(text)
    x = np.array([1, 2, 3, 0], np.float32)
    np.savez(tmp_path / "d.npz", x=x)
    for seed in range(20):  # with the 0 last
        result = onward("train", model, "--data", tmp_path / "d.npz", "--batch-size", 1, "--seed", seed, "-o", tmp_path / "t.onnx")
        if "in step 4" in result.stderr:
            break
        (tmp_path / "t.onnx").unlink(missing_ok=True)
    assert "(Log) made infinity first" in result.stderr
    done("train", model, "--data", tmp_path / "d.npz", "--batch-size", 1, "--seed", seed, "--steps", 3, "-o", tmp_path / "u.onnx")
    assert state(tmp_path / "t.onnx")["w"] == state(tmp_path / "u.onnx")["w"]
