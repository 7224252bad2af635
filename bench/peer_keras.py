"""Keras on TensorFlow or JAX: KERAS_BACKEND=tensorflow|jax peer_keras.py FOLDER NAME jit|graph SECONDS THREADS"""

import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")


def main():
    folder, name, mode, seconds, threads = pathlib.Path(sys.argv[1]), *sys.argv[2:4], float(sys.argv[4]), int(sys.argv[5])
    import keras
    import networks_keras
    import numpy as np
    from measure import measure

    backend = keras.backend.backend()
    recipe = json.loads((folder / "recipes.json").read_text())[name]
    model = networks_keras.compiled(name, recipe, jit=mode == "jit")
    data = np.load(folder / f"{name}.npz")
    x, label = networks_keras.channels_last(data["x"]), data["label"]
    if backend == "tensorflow":
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        model.make_train_function()
        batches = iter(tf.data.Dataset.from_tensors((tf.constant(x), tf.constant(label))).repeat())

        def step():
            tf.nest.map_structure(lambda each: each.numpy() if hasattr(each, "numpy") else each, model.train_function(batches))
    else:
        def step():
            model.train_on_batch(x, label)

    measure(f"keras-{backend} {mode}", step, seconds)


main()
