"""Every operator case that has a gradient, lowered with its gradients and their gradients: operators of
the standard alone, which give what Onward's own graph gives, by ONNX's reference evaluator in float64 and
by stock ONNX Runtime in float32."""

import json

import lowered
import numpy as np
import onnx
import pytest

# Random numbers are each runtime's own.
RANDOM = {"Dropout in training", "Dropout of the default ratio"}

# The evaluator refuses a Dropout whose ratio is left out.
NOT_IN_REFERENCE = {"Dropout of the default ratio"}

# ONNX Runtime refuses to slice a tensor that has no slices.
# It refuses results of a stride and more beyond the windows.
# It aligns corners by the size that a fraction is rounded to, rounds 10 * 0.7 to 7 in float32, and excludes what is
# outside of cubics alone.
# It has neither GlobalLpPool nor Swish, no LRN of an even size, counts MaxUnpool's places in the given shape, takes an open
# number of sizes for 0, and gives the largest elements in an order of its own where any will do.
# It has no windows of attention, and wants a row of a mask for each query and a column for each key.
# It has RoiAlign, MaxRoiPool and DeformConv as they were before opset 22 alone.
# It transforms half a spectrum of another length in another way, and samples images of two dimensions, or of three by lines
# and nearest elements, alone.
NOT_IN_RUNTIME = {"DFT inverse onesided of less", "DFT inverse onesided of more",
                  "GridSample 1 dimension", "GridSample cubic of 3 dimensions", "Scan of nothing", "ConvTranspose zeros beyond a stride",
                  "ConvTranspose of a given shape beyond its windows",
                  "Resize linear at the corners, of a fraction", "Resize nearest above",
                  "Resize linear, within the input", "Resize nearest to sizes", "Resize linear as PyTorch did",
                  "Resize linear to sizes", "Resize of a region", "Resize of a region beyond the input",
                  "Resize nearest of a region beyond the input", "GlobalLpPool", "GlobalLpPool of sums",
                  "GlobalLpPool of cubes", "LRN of an even size", "MaxUnpool to a shape", "Swish", "Swish alpha",
                  "TopK in any order",
                  "Attention windows", "Attention windows over a past", "Attention windows that leave queries alone",
                  "Attention with a mask of each sequence, causal", "Attention with a mask that ends early",
                  "Attention with what is added to the first keys"}

YOUNGER_THAN_RUNTIME = ("RoiAlign", "MaxRoiPool", "DeformConv")


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    lowered.tool("cases", folder)
    found = []
    for each in sorted(folder.iterdir()):
        case = json.loads((each / "case.json").read_text())
        case["model"] = onnx.load(each / "model.onnx")
        case["feeds"] = {name: lowered.read(each / f"{name}.input") for name in case["inputs"]}
        case["results"] = {name: lowered.read(each / f"{name}.result") for name in case["outputs"]}
        found.append(case)
    assert len(found) > 200
    return found


def with_shapes(case):
    """ONNX's checker wants a shape of every input and output, though the standard does not."""
    model = onnx.ModelProto.FromString(case["model"].SerializeToString())
    for value in [*model.graph.input, *model.graph.output]:
        if not value.type.tensor_type.HasField("shape"):
            tensor = case["feeds"].get(value.name, case["results"].get(value.name))
            value.type.tensor_type.shape.SetInParent()
            for size in tensor.shape:
                value.type.tensor_type.shape.dim.add(dim_value=size)
    return model


def differences(case, results, tolerance):
    names = [output.name for output in case["model"].graph.output]
    assert sorted(names) == sorted(case["outputs"]), case["name"]
    for name, value in zip(names, results):
        expected = case["results"][name]
        where = f"{case['name']} ({case['shapes']}), {name}"
        if np.shape(value) != expected.shape:
            yield f"{where}: {np.shape(value)} instead of {expected.shape}"
            continue
        scale = max(1.0, np.abs(expected).max(initial=0))
        error = np.abs(np.asarray(value, np.float64) - expected).max(initial=0) / scale
        if case["name"] not in RANDOM and not error <= tolerance:
            yield f"{where}: off by {error:.1e}"


def test_only_standard_domains(cases):
    for case in cases:
        domains = {node.domain for node in lowered.nodes_of(case["model"].graph)}
        assert domains <= lowered.STANDARD_DOMAINS, case["name"]
        assert {entry.domain for entry in case["model"].opset_import} <= lowered.STANDARD_DOMAINS
        # ONNX's inference takes sizes that it does not know for 0 in Attention and Resize, and computes
        # MeanVarianceNormalization in float.
        operators = {node.op_type for node in lowered.nodes_of(case["model"].graph)}
        is_inferred = "MeanVarianceNormalization" not in operators and (not operators & {"Attention", "Resize"}
                                                                        or case["shapes"] == "fixed")
        onnx.checker.check_model(with_shapes(case), full_check=is_inferred)


def test_values_by_reference(cases):
    wrong = []
    for case in cases:
        if case["name"] in NOT_IN_REFERENCE:
            continue
        try:
            wrong += differences(case, lowered.run_by_reference(case["model"], case["feeds"]), 1e-12)
        except Exception as failure:  # of the evaluator: named with the case
            wrong.append(f"{case['name']} ({case['shapes']}): {type(failure).__name__} {failure}")
    assert wrong == []


def test_values_by_onnx_runtime(cases):
    wrong = []
    for case in cases:
        if case["name"] in NOT_IN_RUNTIME or case["name"].startswith(YOUNGER_THAN_RUNTIME):
            continue
        feeds = {name: value.astype(np.float32) if value.dtype == np.float64 else value
                 for name, value in case["feeds"].items()}
        try:
            results = lowered.session(lowered.in_float32(case["model"])).run(None, feeds)
            wrong += differences(case, results, 2e-4)
        except Exception as failure:
            wrong.append(f"{case['name']} ({case['shapes']}): {type(failure).__name__} {failure}")
    assert wrong == []
