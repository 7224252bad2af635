"""What the tests of onward.keras share: data, training in Keras, and the same steps in Onward."""

import keras
import numpy as np

import onward
import onward.keras

EPS = 2.0**-10  # exact in float32, as an attribute must be
TOLERANCE = {"float64": 1e-8, "float32": 1e-3}


def in_type(dtype):
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)


def train(model, batches):
    losses = []
    for x, label in batches:
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x, label, return_dict=True)["loss"]))
    return losses


def batches_for(model, steps, classes=None, size=6, seed=2):
    """Made-up data for a model: integers below `classes`, or numbers like its output, as labels."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(steps):
        x = []
        for each in model.inputs:
            shape = [size if dim is None else dim for dim in each.shape]
            dtype = keras.backend.standardize_dtype(each.dtype)
            x.append(random.integers(0, 7, shape).astype(dtype) if "int" in dtype else random.normal(size=shape).astype(dtype))
        shape = [size if dim is None else dim for dim in model.outputs[0].shape]
        label = random.integers(0, classes, shape[:-1]) if classes else random.uniform(size=shape).astype(keras.config.floatx())
        made.append((x[0] if len(x) == 1 else x, label))
    return made


def feeds(exported, x, label):
    x = x if isinstance(x, list) else [x]
    return {each.name: array for each, array in zip(exported.inputs, x, strict=True)} | {"label": label}


def assert_goes_on(model, batches, begun=5, steps=20):
    """Trains `begun` steps in Keras, exports, and compares the next steps, the variables and the output at their end."""
    dtype = keras.config.floatx()
    train(model, batches[:begun])
    exported = onward.keras.export(model)
    assert exported.check() == []
    trainer = onward.Trainer(exported)
    losses = [float(trainer.step(feeds(exported, *batch))["loss"]) for batch in batches[begun:]]
    expected = train(model, batches[begun:])
    assert len(losses) == steps
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE[dtype])
    if dtype == "float64":
        again = onward.keras.export(model)
        state = trainer.state()
        for name, array in (again.parameters | again.state).items():
            np.testing.assert_allclose(state[name], array, rtol=1e-8, atol=1e-10, err_msg=name)
        x = batches[0][0]
        results = trainer.infer({key: value for key, value in feeds(exported, x, None).items() if key != "label"})
        np.testing.assert_allclose(results["output"], keras.ops.convert_to_numpy(model(x)), rtol=1e-8, atol=1e-10)
    return trainer


def compared_step(model, x, label):
    """One step in Keras and one in Onward: two losses, and each trained variable by its name, in both."""
    exported = onward.keras.export(model)
    assert exported.check() == []
    trainer = onward.Trainer(exported)
    results = trainer.step(feeds(exported, x, label))
    [expected] = train(model, [(x, label)])
    after, state = onward.keras.export(model), trainer.state()
    names = exported.training[0].names
    return float(results[names["loss"]]), expected, {name: (state[name], after.parameters[name]) for name in after.parameters}


def assert_same_step(model, x, label):
    loss, expected, variables = compared_step(model, x, label)
    np.testing.assert_allclose(loss, expected, rtol=1e-9)
    for name, (ours, keras_s) in variables.items():
        np.testing.assert_allclose(ours, keras_s, rtol=1e-8, atol=1e-12, err_msg=name)


def functional(shape, build, dtype=None):
    x = keras.Input(shape, name="x", dtype=dtype)
    return keras.Model(x, build(x))
