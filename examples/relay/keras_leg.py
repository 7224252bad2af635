"""Keras's part of the relay: keras_leg.py BATCHES DTYPE FIRST COUNT FOLDER saved

Trains what `onward export --to keras` wrote for COUNT steps, saves it, and goes on for as many steps. Prints the
losses of all.
"""

import json
import sys

import numpy as np

batches, _, first, count, source, _ = sys.argv[1:]
first, count = int(first), int(count)
data = np.load(batches)
sys.path.insert(0, source)
import model as exported  # noqa: E402 (it is in the folder that was given)

model, _, optimizer = exported.load()
losses = []
for step in range(first, first + 2 * count):
    if step == first + count:
        exported.save(model, optimizer)
    model.reset_metrics()
    losses.append(float(model.train_on_batch(data["image"][step], data["label"][step])))
print(json.dumps(losses))
