"""Cases of elementwise operators and products of matrices, written for JAX, give what Onward computes; what JAX's
source cannot have yet is refused by name."""

import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emitted import ONWARD, module_of, onward, refusals, written_cases, wrong_values


@pytest.fixture(scope="module", params=["elementwise", "matmul"])
def cases(request, tmp_path_factory):
    return written_cases("jax", tmp_path_factory.mktemp("jax"), request.param)


def listed(results):
    return results if isinstance(results, tuple) else (results,)


def run(folder, feeds):
    module = module_of(folder)
    params = module.load()
    results = listed(module.forward(params, *map(jnp.asarray, feeds)))
    compiled = listed(jax.jit(module.forward)(params, *map(jnp.asarray, feeds)))
    for eager, traced in zip(results, compiled, strict=True):
        np.testing.assert_allclose(eager, traced, rtol=1e-12, atol=1e-12)
    return results


def test_values(cases):
    assert len(cases) > 20
    assert wrong_values(cases, run, {}) == []


def test_refusals(cases):
    assert refusals(cases) == {}


def text_model(folder, nodes):
    file = folder / "model.onnxtxt"
    file.write_text('<ir_version: 10, opset_import: ["" : 22]> small (float[N,3] x) => (float[N,2] y) '
                    "<float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, -1}> { " + nodes + " }")
    return file


def test_parameters_go_there_and_back(tmp_path):
    model = text_model(tmp_path, "h = MatMul(x, w) s = Add(h, b) y = Relu(s)")
    onward("export", model, "--to", "jax", "-o", tmp_path / "out")
    module = module_of(tmp_path / "out")
    params = module.load()
    assert sorted(params) == ["b", "w"]
    x = jnp.ones((4, 3), jnp.float32)
    gradients = jax.grad(lambda params: module.forward(params, x).sum())(params)
    module.save({name: params[name] - 0.5 * gradients[name] for name in params}, tmp_path / "out")
    onward("take", tmp_path / "out", model, "-o", tmp_path / "trained.onnx")
    onward("export", tmp_path / "trained.onnx", "--to", "jax", "-o", tmp_path / "again")
    again = module_of(tmp_path / "again").load()
    np.testing.assert_array_equal(again["b"], np.array([-1, -3], np.float32))
    np.testing.assert_array_equal(again["w"], np.array([[-1, 0], [1, 2], [3, 4]], np.float32))


def refused(*arguments):
    done = subprocess.run([ONWARD, "export", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_training_is_refused(tmp_path):
    onward("prepare", text_model(tmp_path, "h = MatMul(x, w) y = Add(h, b)"), "--loss", "mse", "-o", tmp_path / "job.onnx")
    said = refused(tmp_path / "job.onnx", "--to", "jax", "-o", tmp_path / "out")
    assert "training jobs are not exported to JAX yet; export the model alone with --inference" in said
    onward("export", tmp_path / "job.onnx", "--to", "jax", "--inference", "-o", tmp_path / "out")


def test_operators_without_a_call_are_refused_by_name(tmp_path):
    said = refused(text_model(tmp_path, "h = MatMul(x, w) r = RandomNormalLike(h) y = Add(h, r)"), "--to", "jax", "-o", tmp_path / "out")
    assert "RandomNormalLike" in said and "not exported to JAX yet" in said
    assert not (tmp_path / "out").exists()
