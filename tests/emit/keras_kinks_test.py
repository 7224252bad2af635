"""Where a derivative is not defined, a job in Keras has Onward's."""

import tensorflow as tf
from emitted import module_of
from kinks import differing, job


def test_gradients(tmp_path):
    data, label, ours = job(tmp_path, "keras")
    module = module_of(tmp_path / "keras")
    model, loss_function, _ = module.load()
    variables = {name: variable for name, variable in module.tensors(model).items() if name in ours}
    with tf.GradientTape() as tape:
        loss = loss_function(label, model(data, training=True))
    gradients = tape.gradient(loss, [variable.value for variable in variables.values()])
    assert differing(ours, {name: gradient.numpy() for name, gradient in zip(variables, gradients, strict=True)}) == []
