"""`check` and running agree: a node that `check` accepts for these shapes is run, and one that it refuses is not."""

import numpy as np
import pytest

import onward

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
CONSTANTS = """int64[2,3] i = {0, 0, 0, 0, 0, 0}, int64[1] a1 = {1}, int64[1] a5 = {5}, int64[2] a00 = {0, 0},
    int64[2] a11 = {1, -1}, float[2] v = {1, 2}, float[3] u = {1, 2, 3}, float[2,3] m = {1, 2, 3, 4, 5, 6},
    float[3,2] w = full(1), float[3,1,2] c = full(1), float[2,1,4] k = full(1), float[2,1] s = full(1), int64[3] p = {1, 2, 3}, int64[3] p3 = {4, 1, 3},
    int64 five = {5}, bool[2,3] t = {1, 0, 1, 0, 1, 0}"""

# What is right in an opset, and what is not; with the type of the result, where that is not float.
NODES = {
    6: (["Add(x, m)", "Add<broadcast = 1>(x, u)", "Add<broadcast = 1, axis = 0>(x, v)", "Gemm<broadcast = 1>(x, w, v)",
         "Max(x, m)", "Sum(x)", "bool: Less<broadcast = 1>(x, u)"],
        ["Add(x, v)", "Add(x, u)", "Add<broadcast = 1>(x, v)", "Add<broadcast = 1, axis = 5>(x, v)",
         "Add<broadcast = 1, axis = -1>(x, v)", "Sub(u, x)", "Mul<broadcast = 1>(u, x)", "Div(x, u)", "Pow(x, u)",
         "bool: Less(x, u)", "bool: Greater<broadcast = 1>(x, v)", "Max(x, u)", "Min(x, v)", "Mean(x, u)", "Sum(u, x)",
         "Gemm(x, w, v)", "Gemm<broadcast = 1>(x, w, u)", "PRelu(x, v)"]),
    9: (["Slice<starts = [0], ends = [1]>(x)", "Slice<starts = [0], ends = [9], axes = [-1]>(x)"],
        ["Slice<starts = [0, 0, 0], ends = [1, 1, 1]>(x)", "Slice<starts = [0, 0], ends = [1]>(x)",
         "Slice<starts = [0], ends = [1], axes = [2]>(x)", "Slice<starts = [0], ends = [1], axes = [0, 1]>(x)",
         "Slice<starts = [0, 0], ends = [1, 1], axes = [1, 1]>(x)"]),
    10: (["Unsqueeze<axes = [0, 3]>(x)", "Softmax<axis = 1>(x)", "Softmax<axis = 0>(x)", "Softmax<axis = 2>(x)",
          "LogSoftmax<axis = -1>(x)", "Flatten<axis = 2>(x)",
          "Pad<pads = [0, 1, 1, 0]>(x)", "Clip<min = 2.0>(x)", "Dropout(x)"],
         ["Squeeze<axes = [2]>(x)", "Squeeze<axes = [1]>(x)", "Squeeze<axes = [0, 0]>(x)", "Unsqueeze<axes = [0, 0]>(x)",
          "Unsqueeze<axes = [7]>(x)", "Unsqueeze<axes = [0, -4]>(x)", "Softmax<axis = 5>(x)", "Softmax<axis = -3>(x)",
          "LogSoftmax<axis = 3>(x)", "Hardmax<axis = 5>(x)", "TopK<axis = 2>(x, a1)", "TopK(x, a5)",
          "Flatten<axis = 3>(x)", "Pad<pads = [0, 1]>(x)", "Pad<pads = [0, 1, 1, 0, 1, 1]>(x)"]),
    11: (["ReduceMax<axes = [1]>(x)", "ReduceMean<axes = [0, 1]>(x)", "Split(m)"],
         [f"Reduce{name}<axes = {axes}>(x)" for axes in ("[1, 1]", "[5]", "[-3]", "[1, -1]")
          for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")]
         + ["Split<axis = 1, split = [1, 1]>(x)", "Split<axis = 2>(x)"]),
    21: (["GatherElements<axis = -2>(x, i)", "ScatterElements<axis = 1>(x, i, x)", "Sum(x, s)", "Concat<axis = 1>(x, m)",
          "Squeeze(s, a1)", "ReduceSum(x, a1)", "Unsqueeze(x, a1)", "GlobalAveragePool(k)", "Expand(x, p3)",
          "double: RandomNormal<dtype = 11, shape = [2]>()", "LayerNormalization<stash_type = 1>(x, u)",
          "Where(t, x, u)", "int64: Cast<to = 7>(x)", "MatMul(x, w)"],
         ["GatherElements<axis = 5>(x, i)", "ScatterElements<axis = 5>(x, i, x)", 'Sum(x, "")', 'Max(x, "", m)',
          'Min("", x)', 'Concat<axis = 0>(x, "")', 'Mean(x, "")', "Concat<axis = 2>(x, x)", "Concat<axis = 0>(x, w)",
          "Squeeze(x, a1)", "Squeeze(x, a5)", "ReduceSum(x, a5)", "ReduceL2(x, a11)", "Unsqueeze(x, a00)",
          "Unsqueeze(x, a5)", "GlobalAveragePool(x)", "GlobalMaxPool(x)", "RandomNormal<dtype = 0, shape = [2]>()",
          "int64: RandomUniform<dtype = 7, shape = [2]>()", "RandomNormalLike<dtype = 99>(x)", "Bernoulli<dtype = 0>(x)",
          "EyeLike<dtype = 40>(x)", "EyeLike(v)", "Cast<to = 0>(x)", "LayerNormalization<stash_type = 7>(x, u)",
          "LayerNormalization<stash_type = 99>(x, u)", "LayerNormalization<axis = 2>(x, u)",
          "Softmax<axis = 2>(x)", "int64: ArgMax<axis = 2>(x)", "Gather<axis = 2>(x, i)", "Tile(x, p)", "Expand(x, a5)",
          "Trilu(v)", "MatMul(x, m)", "Transpose<perm = [0, 0]>(x)", "Where(t, x, v)", "Add(x, v)", "Flatten<axis = 3>(x)",
          "OneHot<axis = 3>(i, five, v)", "Pad(x, p)", "Slice(x, p, p)", "Reshape(x, a5)", "TopK(x, a5)",
          "AveragePool<kernel_shape = [1], auto_pad = \"VALID\", pads = [0, 0]>(x)",
          "MaxPool<kernel_shape = [2], auto_pad = \"VALID\", pads = [0, 1]>(k)",
          "Conv<auto_pad = \"SAME_UPPER\", pads = [1, 0]>(k, c)"]),
}
CASES = [(opset, right, node) for opset, (valid, invalid) in NODES.items()
         for right, nodes in ((True, valid), (False, invalid)) for node in nodes]


@pytest.mark.parametrize(("opset", "right", "node"), CASES, ids=lambda value: str(value))
def test_check_and_running_agree(opset, right, node):
    dtype, _, call = node.rpartition(": ")
    model = onward.parse(f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[2,3] x) => ({dtype or "float"}[] y) '
                         f'<{CONSTANTS}> {{ y = {call} }}')
    errors = [problem for problem in model.check() if problem.severity == "error"]
    assert bool(errors) != right, errors
    if right:
        assert "y" in onward.Trainer(model).infer({"x": X})
        return
    with pytest.raises(onward.Error):
        onward.Trainer(model).infer({"x": X})


STEP = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (float[2,3] x) => (float[2,2] y) <float[3,2] w = full(1), float[2,3] other = full(1)> { y = MatMul(x, w) }
training_info {
  algorithm a () => (float loss, float[3,2] w_new) <float R = {0.1}, int64 T = {0}, float[3,2] h = full(0)> {
    loss = ReduceSum<keepdims = 0>(y)
    d = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(GRADIENT)
    w_new, h_new = ai.onnx.preview.training.Adagrad(ADAGRAD)
  }
  update_binding { w <- w_new }
}"""


@pytest.mark.parametrize(("gradient", "adagrad", "right"), [
    ("w, x", "R, T, w, d, h", True),
    ("other, x", "R, T, w, d, h", False),
    ("w, w", "R, T, w, d, h", False),
    ('"", x', "R, T, w, d, h", False),
    ("w, x", 'R, T, w, d, ""', False),
    ("w, x", 'R, "", w, d, h', False),
    ("w, x", "R, T, w, d, other", False),
])
def test_check_and_a_step_agree(gradient, adagrad, right):
    model = onward.parse(STEP.replace("GRADIENT", gradient).replace("ADAGRAD", adagrad))
    errors = [problem for problem in model.check() if problem.severity == "error"]
    assert bool(errors) != right, errors
    if right:
        onward.Trainer(model).step({"x": X})
        return
    with pytest.raises(onward.Error):
        onward.Trainer(model).step({"x": X})
