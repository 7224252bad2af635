"""Transfer learning on the command line: a new classifier with named classes, trained on a folder of images; a head of
one's own; and real shapes of networks, whose results for the old batch size stay as they were."""

import json
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image


def run(*arguments):
    return subprocess.run([os.environ["ONWARD"], *map(str, arguments)], capture_output=True, text=True)


def done(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


class Network:
    """Writes nodes and weights one after the other, as an exporter does."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{len(self.nodes)}", **attributes))
        return name

    def weight(self, *shape, name=None, scale=None):
        name = name or f"w{len(self.tensors)}"
        scale = scale or np.sqrt(2 / max(1, np.prod(shape[1:])))
        self.tensors.append(numpy_helper.from_array((self.random.standard_normal(shape) * scale).astype(np.float32), name))
        return name

    def constant(self, values, name=None):
        name = name or f"w{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(values), name))
        return name

    def conv(self, x, channels, inputs, size, stride=1, group=1):
        w, b = self.weight(channels, inputs // group, size, size), self.weight(channels, scale=0.1)
        return self.add("Conv", x, w, b, strides=[stride] * 2, pads=[size // 2] * 4, group=group)

    def model(self, x, y, producer="pytorch"):
        self.nodes.append(helper.make_node("Identity", [y[0]], ["scores"]))
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("input", TensorProto.FLOAT, x)],
                                  [helper.make_tensor_value_info("scores", TensorProto.FLOAT, y[1])], self.tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name=producer)
        onnx.checker.check_model(made, full_check=True)
        return made


def resnet(batch=1, classes=10):
    """A residual network as PyTorch's exporter writes it for one image: Flatten, then Gemm with a transposed weight."""
    n = Network(1)
    x = n.add("MaxPool", n.add("Relu", n.conv("input", 8, 3, 7, 2)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 8
    for wider in (8, 16):
        stride = 1 if wider == channels else 2
        y = n.conv(n.add("Relu", n.conv(x, wider, channels, 3, stride)), wider, wider, 3)
        x = n.add("Relu", n.add("Add", y, x if stride == 1 else n.conv(x, wider, channels, 1, stride)))
        channels = wider
    x = n.add("Flatten", n.add("GlobalAveragePool", x), axis=1)
    x = n.add("Gemm", x, n.weight(classes, channels, name="fc.weight"), n.weight(classes, name="fc.bias"), transB=1)
    return n.model([batch, 3, 32, 32], (x, [batch, classes]))


def mobilenet(batch=1, classes=10):
    """Depthwise convolutions, Clip for ReLU6, and the pooled features reshaped by what old exporters compute of a shape."""
    n = Network(2)
    low, high = n.constant(np.float32(0)), n.constant(np.float32(6))
    x = n.add("Clip", n.conv("input", 8, 3, 3, 2), low, high)
    for _ in range(2):
        y = n.add("Clip", n.conv(x, 16, 8, 1), low, high)
        y = n.add("Clip", n.conv(y, 16, 16, 3, group=16), low, high)
        x = n.add("Add", n.conv(y, 8, 16, 1), x)
    x = n.add("ReduceMean", x, axes=[2, 3], keepdims=1)
    count = n.add("Gather", n.add("Shape", x), n.constant(np.int64(0)), axis=0)
    axis = n.constant(np.array([0]))
    shape = n.add("Concat", n.add("Unsqueeze", count, axis), n.constant(np.array([-1])), axis=0)
    x = n.add("Reshape", x, shape)
    x = n.add("Gemm", x, n.weight(classes, 8, name="classifier.1.weight"), n.weight(classes, name="classifier.1.bias"), transB=1)
    return n.model([batch, 3, 32, 32], (x, [batch, classes]))


def keras_like(batch=1, classes=10):
    """Images channels last, a product and an added bias, as tf2onnx writes a Dense layer with softmax."""
    n = Network(3)
    x = n.add("Transpose", "input", perm=[0, 3, 1, 2])
    x = n.add("Relu", n.conv(x, 8, 3, 3, 2))
    x = n.add("Squeeze", n.add("GlobalAveragePool", x), n.constant(np.array([2, 3])))
    x = n.add("Add", n.add("MatMul", x, n.weight(8, classes, name="dense/kernel")), n.weight(classes, name="dense/bias"))
    return n.model([batch, 32, 32, 3], (n.add("Softmax", x), [batch, classes]), "tf2onnx")


def fully_convolutional(batch=1, classes=10):
    """A 1x1 convolution before the pooling (SqueezeNet), and the classes' number in a Reshape."""
    n = Network(4)
    x = n.add("Relu", n.conv("input", 8, 3, 3, 2))
    x = n.add("Relu", n.add("Conv", x, n.weight(classes, 8, 1, 1, name="classifier.weight"), n.weight(classes, name="classifier.bias")))
    x = n.add("Reshape", n.add("GlobalAveragePool", x), n.constant(np.array([batch, classes])))
    return n.model([batch, 3, 32, 32], (x, [batch, classes]))


NETWORKS = {"resnet": resnet, "mobilenet": mobilenet, "keras": keras_like, "fully_convolutional": fully_convolutional}


def inference(model):
    """The inference graph of a training model, as other runtimes take it."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    del model.training_info[:]
    return model


def outputs(model, images):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: images})[0]


def images_for(model, count):
    dims = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(5).random((count, *dims[1:]), dtype=np.float32)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch", [1, 2])
def test_a_fixed_batch_is_opened_and_results_stay(tmp_path, name, batch):
    before = NETWORKS[name](batch)
    onnx.save(before, tmp_path / "m.onnx")
    text = done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy")
    assert f"note: the batch size was fixed at {batch} and is open now" in text
    after = inference(onnx.load(tmp_path / "t.onnx"))
    assert after.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    images = images_for(before, 3 * batch)
    alone = np.concatenate([outputs(before, images[i:i + batch]) for i in range(0, 3 * batch, batch)])
    np.testing.assert_array_equal(outputs(after, images[:batch]), alone[:batch])
    np.testing.assert_allclose(outputs(after, images), alone, rtol=1e-5, atol=1e-6)
    done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "k.onnx", "--loss", "softmax_cross_entropy", "--keep-batch")
    assert onnx.load(tmp_path / "k.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_value == batch


@pytest.mark.parametrize("name", NETWORKS)
def test_a_new_classifier_leaves_the_features_as_they_were(tmp_path, name):
    before = NETWORKS[name]()
    onnx.save(before, tmp_path / "m.onnx")
    done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy", "--classes", 4)
    after = inference(onnx.load(tmp_path / "t.onnx"))
    onnx.checker.check_model(after, full_check=True)
    dims = after.graph.output[0].type.tensor_type.shape.dim
    assert (dims[0].dim_param, dims[1].dim_value) == ("batch", 4)
    assert outputs(after, images_for(before, 5)).shape == (5, 4)
    old = {t.name: numpy_helper.to_array(t) for t in before.graph.initializer}
    new = {t.name: numpy_helper.to_array(t) for t in after.graph.initializer}
    changed = {key for key in old if old[key].dtype == np.float32 and not np.array_equal(old[key], new.get(key))}
    assert len(changed) == 2 and all(any(word in key for word in ("fc", "classifier", "dense")) for key in changed)
    assert all(4 in new[key].shape for key in changed)


@pytest.mark.parametrize("shared", [False, True])
def test_weights_that_old_files_list_as_inputs_too(tmp_path, shared):
    n = Network(6)
    tensors = [n.weight(6, 6, name="w"), n.weight(6, name="b")]
    x = n.add("Gemm", "input", "w", "b") if shared else "input"
    model = n.model([1, 6], (n.add("Gemm", x, "w", "b"), [1, 6]))
    for name in tensors:
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [6, 6] if name == "w" else [6]))
    model.ir_version = 3
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, tmp_path / "m.onnx")
    text = done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy", "--classes", 4)
    assert "has 4 classes in place of 6" in text and "the batch size was fixed at 1 and is open now" in text
    assert done("check", tmp_path / "t.onnx").strip().endswith(": valid")
    after = inference(onnx.load(tmp_path / "t.onnx"))
    shapes = {t.name: list(t.dims) for t in after.graph.initializer}
    assert shapes == ({"w": [6, 6], "b": [6], "w_2": [6, 4], "b_2": [4]} if shared else {"w": [6, 4], "b": [4]})
    assert outputs(after, np.ones((3, 6), np.float32)).shape == (3, 4)


def photos(folder, names, count=8):
    """Images whose class is how bright they are."""
    random = np.random.default_rng(7)
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            level = 40 + 160 * number // max(1, len(names) - 1)
            pixels = (level + random.integers(-20, 20, (32, 32, 3))).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


def test_from_a_network_to_named_classes_of_one_s_own(tmp_path):
    onnx.save(resnet(), tmp_path / "m.onnx")
    data = photos(tmp_path / "photos", ["night", "day"])
    (tmp_path / "labels.txt").write_text("night\nday\n")  # not in the order of folders
    text = done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy", "--classes", 2,
                "--labels", tmp_path / "labels.txt", "--freeze-backbone", "--lr", "0.05")
    assert "trained (2 tensors, 34 parameters)" in text
    assert ("note: Gemm 'Gemm_16' has 2 classes in place of 10: fc.weight f32[2,16] and fc.bias f32[2] start anew as PyTorch "
            "starts a layer (uniform up to 0.25, seed 0), since the model was written by pytorch") in text, text
    backbone = {t.name: t.raw_data for t in onnx.load(tmp_path / "t.onnx").graph.initializer if not t.name.startswith("fc.")}
    done("train", tmp_path / "t.onnx", "--data", data, "--epochs", 30, "--batch-size", 8, "-o", tmp_path / "o.onnx")
    trained = onnx.load(tmp_path / "o.onnx")
    kept = {entry.key: entry.value for entry in trained.metadata_props}
    assert json.loads(kept["onward.classes"]) == ["night", "day"]
    assert {t.name: t.raw_data for t in trained.graph.initializer if t.name in backbone} == backbone
    lines = done("predict", tmp_path / "o.onnx", "--data", data, "--json").splitlines()
    found = {line["image"]: line["class"] for line in map(json.loads, lines)}
    assert len(found) == 16 and all(name.startswith(kind + "/") for name, kind in found.items())


LABELS = {
    "another number": ("night\nday\n", [], "names for 2 classes, but the model has scores for 10: add --classes 2"),
    "differs from --classes": ("night\nday\n", ["--classes", 3], "names for 2 classes, but the model has scores for 3"),
    "twice": ("a\nb\na\n", [], "'a' is there twice"),
    "an empty line": ("a\n\nb\n", [], "name 2 is empty"),
    "nothing": ("\n", [], "it names no classes"),
    "no list of texts": ("[1, 2]", [], "it begins as a JSON list does, but is not one of texts"),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_do_not_fit(tmp_path, name):
    text, options, message = LABELS[name]
    onnx.save(resnet(), tmp_path / "m.onnx")
    (tmp_path / "labels.txt").write_text(text)
    refused = run("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy",
                  "--labels", tmp_path / "labels.txt", *options)
    assert refused.returncode == 1 and message in refused.stderr, refused.stderr
    assert not (tmp_path / "t.onnx").exists()


def test_labels_as_a_json_list_and_a_folder_of_others(tmp_path):
    onnx.save(resnet(), tmp_path / "m.onnx")
    (tmp_path / "labels.json").write_text('["night", "day", "dawn"]')
    done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy", "--classes", 3,
         "--labels", tmp_path / "labels.json")
    data = photos(tmp_path / "photos", ["night", "dusk"])
    refused = run("train", tmp_path / "t.onnx", "--data", data, "-o", tmp_path / "o.onnx")
    assert refused.returncode == 1
    assert "unknown class 'dusk'" in refused.stderr and "night, day, dawn" in refused.stderr


def test_a_head_of_one_s_own(tmp_path):
    onnx.save(resnet(), tmp_path / "m.onnx")
    (tmp_path / "head.onnxtxt").write_text("""<ir_version: 8, opset_import: ["" : 17]>
head (float[N,16] features) => (float[N,3] kinds) <float[16,8] a = normal(1, 0.3), float[8] b = full(0), float[8,3] c = normal(2, 0.3)>
{ h = Gemm(features, a, b) r = Relu(h) kinds = MatMul(r, c) }
""")
    text = done("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "softmax_cross_entropy",
                "--head", tmp_path / "head.onnxtxt", "--freeze-backbone")
    assert "trained (3 tensors, 160 parameters)" in text
    after = inference(onnx.load(tmp_path / "t.onnx"))
    onnx.checker.check_model(after, full_check=True)
    assert [o.name for o in after.graph.output] == ["kinds"]
    assert outputs(after, images_for(resnet(), 4)).shape == (4, 3)
    assert not any(t.name.startswith("fc.") for t in after.graph.initializer)


def test_a_detector_is_refused(tmp_path):
    n = Network(5)
    x = n.add("Relu", n.conv("input", 8, 3, 3, 2))
    boxes, scores = (n.add("Reshape", n.conv(x, count, 8, 1), n.constant(np.array([1, count, -1]))) for count in (4, 10))
    onnx.save(n.model([1, 3, 32, 32], (n.add("Concat", boxes, scores, axis=1), [1, 14, 256])), tmp_path / "m.onnx")
    refused = run("prepare", tmp_path / "m.onnx", "-o", tmp_path / "t.onnx", "--loss", "mse", "--classes", 3)
    assert refused.returncode == 1
    assert "no classifier is found behind output 'scores' f32[1,14,256]" in refused.stderr and "Concat" in refused.stderr
