"""The frozen part of a model is computed once per example, and nothing else changes by that."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from program import done, equal_bits, events, losses, onward

SIZE = 40


def backbone(folder, dropout_at=None, name="net"):
    """Two convolutions with batch normalization, pooled, and a linear layer over them."""
    random = np.random.default_rng(1)
    weights = {
        "k1": random.normal(0, 0.2, (16, 3, 3, 3)), "k2": random.normal(0, 0.1, (16, 16, 3, 3)),
        "scale": random.uniform(0.5, 1, 16), "shift": random.normal(0, 0.1, 16),
        "mean": random.normal(0, 0.1, 16), "variance": random.uniform(0.5, 1, 16),
        "head.weight": random.normal(0, 0.3, (16, 3)), "head.bias": np.zeros(3),
    }
    nodes = [
        helper.make_node("Conv", ["image", "k1"], ["c1"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c1", "scale", "shift", "mean", "variance"], ["n1"]),
        helper.make_node("Relu", ["n1"], ["r1"]),
        helper.make_node("Conv", ["r1", "k2"], ["c2"], pads=[1] * 4),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["features"]),
        helper.make_node("Gemm", ["features", "head.weight", "head.bias"], ["scores"]),
    ]
    if dropout_at is not None:
        before = nodes[dropout_at].output[0]
        nodes[dropout_at + 1].input[0] = "dropped"
        nodes.insert(dropout_at + 1, helper.make_node("Dropout", [before], ["dropped"]))
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 3])],
        [numpy_helper.from_array(value.astype(np.float32), key) for key, value in weights.items()])
    file = folder / f"{name}.inference.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    done("prepare", file, "--loss", "softmax_cross_entropy", "--optimizer", "adam", "--lr", 0.01, "--freeze", "*",
         "--train", "head.*", "-o", folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def arrays(folder, count=21, name="data"):
    random = np.random.default_rng(2)
    label = random.integers(0, 3, count)
    image = random.random((count, 3, SIZE, SIZE), dtype=np.float32)
    image[np.arange(count), label] += 1
    np.savez(folder / f"{name}.npz", image=image, label=label)
    return folder / f"{name}.npz"


def figures(result):
    return losses(result), [event.get("evaluation") for event in events(result.stdout, "epoch")]


def test_same_bits_with_and_without(tmp_path):
    model = backbone(tmp_path, dropout_at=6)  # behind the frozen part
    train = ["train", model, "--data", arrays(tmp_path), "--eval", arrays(tmp_path, 9, "eval"), "--batch-size", 4,
             "--epochs", 3, "--json"]
    kept = done(*train, "-o", tmp_path / "kept.onnx")
    assert events(kept.stdout, "begin")[0]["frozen"] == {"nodes": 7, "of": 10, "bytes": 64, "kept": 21}
    for other in (["off"], ["1K"], ["0"]):
        result = done(*train, "--prefix-cache", *other, "-o", tmp_path / "other.onnx")
        assert figures(result) == figures(kept), other
        assert equal_bits(tmp_path / "other.onnx", tmp_path / "kept.onnx"), other


def test_resume(tmp_path):
    model = backbone(tmp_path, dropout_at=6)
    train = ["train", model, "--data", arrays(tmp_path), "--batch-size", 4, "--val-split", 0.2, "--json"]
    whole = done(*train, "--epochs", 4, "-o", tmp_path / "whole.onnx")
    kept = ["--checkpoint", tmp_path / "kept", "-o", tmp_path / "parts.onnx"]
    done(*train, "--steps", 7, *kept)
    end = done(*train, "--epochs", 4, *kept, "--resume")
    assert losses(end) == losses(whole)[7:]
    assert equal_bits(tmp_path / "parts.onnx", tmp_path / "whole.onnx")


@pytest.mark.parametrize("dropout_at, cut", [(0, None), (2, None), (5, 64), (6, 64)])
def test_the_cut_is_before_what_is_random(tmp_path, dropout_at, cut):
    result = done("train", backbone(tmp_path, dropout_at), "--data", arrays(tmp_path, 8), "--explain", "--json",
                  "-o", tmp_path / "t.onnx")
    begin = events(result.stdout, "begin")[0]
    assert begin.get("frozen", {}).get("bytes") == cut
    if cut is None:
        assert "frozen: nothing is kept, since the frozen part takes" in result.stderr


def test_explained(tmp_path):
    model, data = backbone(tmp_path), arrays(tmp_path)
    result = done("train", model, "--data", data, "--val-split", 0.2, "--explain", "-o", tmp_path / "t.onnx")
    line = "frozen: 7 of 9 nodes are computed once per example, 64 bytes each"
    assert line + "\n" in result.stdout
    assert line + "; 1.09 million multiply-adds an example\n" in result.stderr
    assert "evaluation, " + line in result.stderr
    small = done("train", model, "--data", data, "--prefix-cache", "500", "-o", tmp_path / "t.onnx")
    assert line + "; there is room for 7 of 21 examples\n" in small.stdout
    assert "frozen" not in done("train", model, "--data", data, "--prefix-cache", "off", "-o", tmp_path / "t.onnx").stdout


@pytest.mark.parametrize("size", ["", "much", "-1", "1X", "1GB", "nan", "1e30G"])
def test_refused_sizes(tmp_path, size):
    result = onward("train", backbone(tmp_path), "--data", arrays(tmp_path), "--prefix-cache", size, "-o", tmp_path / "t.onnx")
    assert result.returncode != 0 and "prefix-cache" in result.stderr
