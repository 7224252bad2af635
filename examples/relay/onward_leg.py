"""Onward's part of the relay: onward_leg.py BATCHES DTYPE FIRST COUNT SOURCE.onnx TARGET.onnx

Trains SOURCE for COUNT steps, writes TARGET, and goes on for as many steps. Prints the losses of all.
"""

import json
import sys

import numpy as np

import onward

batches, _, first, count, source, target = sys.argv[1:]
first, count = int(first), int(count)
data = np.load(batches)
trainer = onward.Trainer(onward.load(source))
losses = []
for step in range(first, first + 2 * count):
    if step == first + count:
        trainer.save(target)
    losses.append(float(trainer.step({name: data[name][step] for name in data.files})["loss"]))
print(json.dumps(losses))
