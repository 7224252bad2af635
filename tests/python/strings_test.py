"""Tensors of strings move through a model as any others do, wherever they come from."""

import numpy as np
import pytest

import onward
from program import onward_program

TEXTS = np.array([["a", "bcd", ""], ["naïve", "x" * 300, "b"]], dtype=object)
LITERAL = '{"a", "bcd", "", "naïve", "%s", "b"}' % ("x" * 300)

# Nodes that give y from s, and what that is.
NODES = {
    "nothing": ("", TEXTS),
    "Concat": ("y = Concat<axis = 0>(s, s)", np.concatenate([TEXTS, TEXTS])),
    "Expand": ("e = Constant<value_ints = [2, 2, 3]>() y = Expand(s, e)", np.stack([TEXTS, TEXTS])),
    "Flatten": ("y = Flatten<axis = 0>(s)", TEXTS.reshape(1, 6)),
    "Gather": ("i = Constant<value_ints = [2, 0]>() y = Gather<axis = 1>(s, i)", TEXTS[:, [2, 0]]),
    "GatherElements": ("i = Constant<value = int64[1,3] {1, 0, 1}>() y = GatherElements(s, i)",
                       np.array([["naïve", "bcd", "b"]], dtype=object)),
    "Identity": ("y = Identity(s)", TEXTS),
    "OneHot": ('i = Constant<value_ints = [1, 0]>() d = Constant<value_int = 2>() v = Constant<value_strings = ["off", "on"]>()'
               " y = OneHot(i, d, v)", np.array([["off", "on"], ["on", "off"]], dtype=object)),
    "Pad": ('p = Constant<value_ints = [0, 1, 0, 0]>() f = Constant<value_string = "p">() y = Pad(s, p, f)',
            np.concatenate([np.full((2, 1), "p", dtype=object), TEXTS], axis=1)),
    "Pad with nothing": ("p = Constant<value_ints = [0, 0, 1, 0]>() y = Pad(s, p)",
                         np.concatenate([TEXTS, np.full((1, 3), "", dtype=object)])),
    "Reshape": ("n = Constant<value_ints = [3, 2]>() y = Reshape(s, n)", TEXTS.reshape(3, 2)),
    "Slice": ("b = Constant<value_ints = [0, 1]>() e = Constant<value_ints = [2, 3]>() y = Slice(s, b, e)", TEXTS[:, 1:]),
    "Split": ("y, z = Split<axis = 0, num_outputs = 2>(s)", TEXTS[:1]),
    "Squeeze": ("a = Constant<value_ints = [0]>() u = Unsqueeze(s, a) y = Squeeze(u, a)", TEXTS),
    "Transpose": ("y = Transpose(s)", TEXTS.T),
    "Unsqueeze": ("a = Constant<value_ints = [0]>() y = Unsqueeze(s, a)", TEXTS[None]),
    "Where": ('c = Constant<value = bool[3] {1, 0, 1}>() o = Constant<value_string = "else">() y = Where(c, s, o)',
              np.where([True, False, True], TEXTS, "else")),
}
SOURCES = ["constant", "initializer", "input", "input without a shape"]


def model_of(node, source):
    given, output = "string[2,3] s", "s" if not node else "y"
    if source.startswith("input"):
        given = given.replace("2,3", "") if "without" in source else given
        head, body = f"({given}, float[N] x) => (string[] {output}, float[N] z1) ", node
    elif source == "initializer":
        head, body = f"(float[N] x) => (string[] {output}, float[N] z1) <{given} = {LITERAL}> ", node
    else:
        head, body = f"(float[N] x) => (string[] {output}, float[N] z1) ", f"s = Constant<value = string[2,3] {LITERAL}>() {node}"
    return onward.parse(f'<ir_version: 10, opset_import: ["" : 20]> g {head} {{ z1 = Relu(x) {body} }}'), output


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", NODES)
def test_strings_move(name, source, tmp_path):
    node, expected = NODES[name]
    model, output = model_of(node, source)
    assert not model.check()
    feeds = {"x": np.ones(2, np.float32), **({"s": TEXTS} if source.startswith("input") else {})}
    trainer = onward.Trainer(model, threads=1)
    for _ in range(2):  # also by what is kept of the first time
        given = trainer.infer(feeds)
        assert given[output].shape == expected.shape and given[output].tolist() == expected.tolist()
        np.testing.assert_array_equal(given["z1"], feeds["x"])

    model.save(tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", **{key: value.astype("U") if key == "s" else value for key, value in feeds.items()})
    result = onward_program("run", tmp_path / "m.onnx", "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert result.returncode == 0, result.stderr
    assert np.load(tmp_path / "out.npz")[output].tolist() == np.char.encode(expected.astype("U"), "utf-8").tolist()


def test_unequal_strings_stay_apart():
    model = onward.parse("""<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (string[] a, string[] b, float[N] y) {
        a = Constant<value = string[2] {"a", "b"}>() b = Constant<value = string[2] {"a", "c"}>() y = Relu(x) }""")
    given = onward.Trainer(model).infer({"x": np.ones(1, np.float32)})
    assert given["a"].tolist() == ["a", "b"] and given["b"].tolist() == ["a", "c"]


def test_bytes_that_are_no_text():
    model = onward.parse("""<ir_version: 10, opset_import: ["" : 20]> g (string[N] s) => (string[N] y) { y = Identity(s) }""")
    given = onward.Trainer(model).infer({"s": np.array([b"\xff\x00\xfe", "ü"], dtype=object)})
    assert given["y"].tolist() == [b"\xff\x00\xfe", "ü"]


def test_a_training_whose_model_gives_strings(tmp_path):
    model = onward.prepare(onward.parse("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[N,2] x) => (float[N,1] y, string[2] names) <float[2,1] w = full(1)> {
        y = MatMul(x, w) names = Constant<value_strings = ["p", "q"]>() }"""), loss="mse", optimizer="sgd", output="y")
    trainer = onward.Trainer(model)
    batch = {"x": np.ones((3, 2), np.float32), "label": np.zeros((3, 1), np.float32)}
    first = trainer.step(batch)
    assert first["names"].tolist() == ["p", "q"]
    assert trainer.step(batch)["loss"] < first["loss"]

    model.save(tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", **batch)
    command = ["train", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "-o", tmp_path / "o.onnx",
               "--checkpoint", tmp_path / "c"]
    for epochs, more in (("1", []), ("2", ["--resume"])):
        result = onward_program(*command, "--epochs", epochs, *more)
        assert result.returncode == 0, result.stderr
    trained = onward.Trainer(onward.load(tmp_path / "o.onnx"))
    assert trained.infer({"x": batch["x"]})["names"].tolist() == ["p", "q"]
