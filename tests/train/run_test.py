"""`onward run`: one inference or one step on arrays from files."""

import numpy as np
import pytest

from program import done, example, onward, state


def save(folder, **arrays):
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def linear(folder):
    save(folder, x=np.float32([[1], [2], [3]]), label=np.float32([[2], [4], [6]]))
    return example(folder, "linear")


def test_inference(tmp_path):
    model = linear(tmp_path)
    result = done("run", model, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
    assert result.stdout == "y f32[3,1] = 0, 0, 0\n"
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["y.npy"]
    y = np.load(tmp_path / "out" / "y.npy")
    assert y.dtype == np.float32 and np.array_equal(y, np.zeros((3, 1)))


def test_one_step(tmp_path):
    model = linear(tmp_path)
    before = model.read_bytes()
    result = done("run", model, "--training", "--input", f"x={tmp_path / 'x.npy'}",
                  "--input", f"label={tmp_path / 'label.npy'}", "-o", tmp_path / "out.npz")
    assert "loss f32[] = 18.6667\n" in result.stdout
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["loss"] == pytest.approx(56 / 3, rel=1e-6)
        assert arrays["w_new"] == pytest.approx(0.2, rel=1e-5)  # Adagrad's first step is the rate
        assert arrays["T_new"] == 1
    assert model.read_bytes() == before


def test_inputs_from_an_archive(tmp_path):
    model = linear(tmp_path)
    np.savez(tmp_path / "in.npz", x=np.float32([[5]]))
    assert done("run", model, "--input", tmp_path / "in.npz").stdout == "y f32[1,1] = 0\n"


def test_names_stay_inside_the_folder(tmp_path):
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] "../up/y", float[N] ".hidden") {
  "../up/y" = Neg(x)
  ".hidden" = Abs(x)
}
"""
    (tmp_path / "m.onnxtxt").write_text(text)
    save(tmp_path, x=np.float32([1]))
    done("run", tmp_path / "m.onnxtxt", "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert names == ["%2E.%2Fup%2Fy.npy", "%2Ehidden.npy"]


@pytest.mark.parametrize("arguments, message", [
    ([], "input 'x' f32[N,1] is missing"),
    (["--input", "x"], "NAME=FILE.npy"),
    (["--input", "x={}/missing.npy"], "missing.npy"),
    (["--input", "z={}/x.npy"], "the model has no input 'z', only 'x'"),
    (["--input", "x={}/x.npy", "--input", "x={}/x.npy"], "given twice"),
    (["--input", "x={}/huge.npy"], "element 1 is 1e+39, which f32 cannot represent"),
    (["--input", "x={}/pairs.npy"], "f32[3,2] does not fit f32[N,1]: dimension 1 is 1 and 2\n  in the array for input 'x'"),
    (["--input", "x={}/x.npy", "--training"], "input 'label' f32[N,1] is missing"),
    (["--input", "x={}/x.npy", "--info", "0"], "--info needs --training"),
])
def test_refusals(tmp_path, arguments, message):
    model = linear(tmp_path)
    save(tmp_path, huge=np.array([[0], [1e39]]), pairs=np.zeros((3, 2), np.float32))
    result = onward("run", model, *[each.format(tmp_path) for each in arguments])
    assert result.returncode == 1 and message in result.stderr
    assert state(model)["w"] == 0
