"""Operators where their derivative jumps, or their elements tie: one job holds all of them, each of a parameter of its own."""

import re

import numpy as np
from emitted import onward as command

import onward
from onward._activations import ACTIVATIONS

# What is computed of z, whose elements are whole numbers from -2 to 2; v is another such tensor, one is 1.
KINKS = {
    **{f"{row.op}, {number}": f"a = Add(z, {row.op}_{number}) y = {row.op}(a)"
       for row in ACTIVATIONS for number in range(len(row.kinks))},
    "leaky, steep": "y = LeakyRelu<alpha = 2.0>(z)",
    "leaky, negative": "y = LeakyRelu<alpha = -0.5>(z)",
    "clip": "y = Clip(z, minus, one)",
    "clip, low": "y = Clip(z, zero)",
    "clip, high": "y = Clip(z, , one)",
    "clip to a point": "y = Clip(z, one, one)",
    "clip, crossed": "c = Clip(z, one, minus) y = Add(c, z)",
    "clip by what is trained": "y = Clip(z, low, high)",
    "clip by what is trained, crossed": "y = Clip(z, high, low)",
    "clip, held on its limits": "c = Clip(z, minus, one) a = Equal(z, minus) h = Where(a, minus, c) b = Equal(z, one) y = Where(b, one, h)",
    "clip, held on one of two limits": "c = Clip(z, minus, one) a = Equal(z, minus) y = Where(a, minus, c)",
    "clip, held on its low limit": "c = Clip(z, zero) a = Equal(z, zero) y = Where(a, zero, c)",
    "clip, held on its high limit": "c = Clip(z, , one) a = Equal(z, one) y = Where(a, one, c)",
    "clip, held elsewhere": "c = Clip(z, zero, one) a = Equal(z, minus) h = Where(a, minus, c) b = Equal(z, one) y = Where(b, one, h)",
    "clip of another, held": "c = Clip(v, minus, one) a = Equal(z, minus) h = Where(a, minus, c) b = Equal(z, one) k = Where(b, one, h) y = Mul(k, z)",
    "clip to a point, held": "c = Clip(z, one, one) a = Equal(z, one) h = Where(a, one, c) b = Equal(z, one) k = Where(b, one, h) y = Add(k, z)",
    "clip, crossed, held": "c = Clip(z, one, minus) a = Equal(z, one) h = Where(a, one, c) b = Equal(z, minus) k = Where(b, minus, h) y = Add(k, z)",
    "clip, held, read twice": "c = Clip(z, minus, one) a = Equal(z, minus) h = Where(a, minus, c) b = Equal(z, one) k = Where(b, one, h) y = Add(k, c)",
    "max": "y = Max(z, v)",
    "max of squares": "s = Mul(z, z) y = Max(z, s)",
    "max with a number": "y = Max(z, one)",
    "max of three": "y = Max(z, v, one)",
    "max of four": "s = Mul(z, z) y = Max(z, s, v, z)",
    "max with a row": "y = Max(row, z)",
    "max with what is smaller": "y = Max(low, row, z)",
    "min": "y = Min(z, v)",
    "min with a number": "y = Min(one, z)",
    "min of three": "y = Min(v, z, one)",
    "reduce max": "y = ReduceMax(z, last)",
    "reduce max of places": "y = ReduceMax(z, places)",
    "reduce max of all": "m = ReduceMax(z) y = Mul(m, z)",
    "pool": "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(z)",
    "pool, overlapping": "y = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(z)",
    "pool, padded": "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(z)",
    "pool, padded on one side": "y = MaxPool<kernel_shape = [3, 2], strides = [2, 1], pads = [2, 0, 0, 1]>(z)",
    "pool, dilated": "y = MaxPool<kernel_shape = [2, 2], dilations = [2, 3]>(z)",
    "pool, rounded up": "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(z)",
    "pool, same upper": 'y = MaxPool<kernel_shape = [3, 2], strides = [2, 2], auto_pad = "SAME_UPPER">(z)',
    "pool, same lower": 'y = MaxPool<kernel_shape = [3, 2], strides = [2, 2], auto_pad = "SAME_LOWER">(z)',
    "pool in 1 dimension": "r = Reshape(z, as_row) y = MaxPool<kernel_shape = [3], strides = [2]>(r)",
    "pool in 3 dimensions": "r = Reshape(z, as_cube) y = MaxPool<kernel_shape = [2, 2, 2], strides = [1, 1, 1]>(r)",
    "pool in 3 dimensions, padded":
        "r = Reshape(z, as_cube) y = MaxPool<kernel_shape = [2, 2, 2], strides = [2, 2, 2], pads = [1, 0, 1, 0, 0, 1]>(r)",
    "pow 2": "y = Pow(z, two)",
    "pow 1": "y = Pow(z, one)",
    "pow 0": "p = Pow(z, zero) y = Add(p, z)",
    "pow of what is positive": "a = Abs(z) s = Add(a, one) y = Pow(s, v)",
    "square root": "a = Abs(z) s = Add(a, one) y = Sqrt(s)",
    "where greater": "g = Greater(z, zero) s = Mul(z, two) y = Where(g, z, s)",
    "where less": "g = Less(z, v) y = Where(g, v, z)",
    "sign": "s = Sign(z) y = Mul(s, z)",
    "softplus": "y = Softplus(z)",
    "gelu": "y = Gelu(z)",
}
# What other inputs of the operators are, all of them trained.
SHARED = {"another": "[2,6,6]", "low": "", "high": "", "row": "[6]"}
NUMBERS = {"zero": 0, "one": 1, "minus": -1, "two": 2,
           **{f"{row.op}_{number}": kink for row in ACTIVATIONS for number, kink in enumerate(row.kinks)}}
LISTS = {"last": [-1], "places": [2, 3], "columns": [1], "as_row": [0, 1, -1], "as_cube": [0, 2, 3, 4, 3]}


def parameter(name):
    return "w_" + "".join(letter if letter.isalnum() else "_" for letter in name)


def model():
    """The job as text, in float64."""
    tensors = [f"double[2,6,6] {parameter(name)} = {{{', '.join(['0'] * 72)}}}" for name in KINKS]
    for name, shape in SHARED.items():
        values = {"another": ["0"] * 72, "row": ["0", "1", "2", "-1", "-2", "0"]}.get(name, ["1" if name == "high" else "-1"])
        tensors.append(f"double{shape} {name} = {{{', '.join(values)}}}")
    tensors += [f"double {name} = {{{value}}}" for name, value in NUMBERS.items()]
    tensors += [f"int64[{len(values)}] {name} = {{{', '.join(map(str, values))}}}" for name, values in LISTS.items()]
    nodes = []
    for name, text in KINKS.items():
        own = f"z = Add(x, {parameter(name)}) v = Add(other, another) {text} t = Tanh(y) f = Flatten(t) " \
              "sum = ReduceSum(f, columns) "
        nodes.append(re.sub(r"\b([a-z]|sum)\b", lambda found, name=name: f"{parameter(name)}_{found[0]}", own).replace(
            f"{parameter(name)}_x", "x"))
    columns = ", ".join(f"{parameter(name)}_sum" for name in KINKS)
    return (f'<ir_version: 9, opset_import: ["" : 20]>\n'
            f"kinks (double[N,2,6,6] x, double[N,2,6,6] other) => (double[N,{len(KINKS)}] output) <{', '.join(tensors)}> "
            f"{{ {' '.join(nodes)} output = Concat<axis = 1>({columns}) }}")


def job(folder, target):
    """Exports the job to `target` in `folder`; gives the data, and Onward's gradients by name."""
    trained = [*(parameter(name) for name in KINKS), *SHARED]
    prepared = onward.prepare(onward.parse(model()), loss="mse", freeze=["*"], train=trained, optimizer="sgd")
    prepared.save(folder / "job.onnx")
    command("export", folder / "job.onnx", "--to", target, "-o", folder / target)
    random = np.random.default_rng(3)
    data = [random.integers(-2, 3, (5, 2, 6, 6)).astype("float64") for _ in range(2)]
    label = random.normal(size=(5, len(KINKS)))
    gradients = onward.Trainer(prepared).gradients({"x": data[0], "other": data[1], "label": label})
    return data, label, {name: gradients[name] for name in trained}


def differing(ours, theirs):
    """The parameters whose gradients are not the same to 1e-12."""
    scale = {name: max(np.abs(gradient).max(), 1) for name, gradient in ours.items()}
    return [name for name in ours if not np.allclose(ours[name], theirs[name], rtol=0, atol=1e-12 * scale[name])]
