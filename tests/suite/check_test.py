"""`check` accepts every model of ONNX's backend suite that ONNX's own checker accepts."""

import onnx
import pytest
import suite


@pytest.fixture(scope="module")
def models():
    return suite.models()


def accepted_by_onnx(model):
    try:
        onnx.checker.check_model(model, full_check=True)
        return True
    except Exception:  # ValidationError, InferenceError
        return False


def test_what_onnx_accepts_is_accepted(models, tmp_path):
    suite.write(tmp_path, models)
    lines = suite.run_tool("check", tmp_path)
    refused = []
    for name, model in models.items():
        line = lines[name]
        errors = [p["text"] for p in line.get("problems", []) if p["severity"] == "error"]
        if "error" in line:
            errors.append(line["error"])
        if errors and accepted_by_onnx(model):
            refused.append(f"{name}: {errors[0]}")
    assert refused == []
