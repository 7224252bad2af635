"""PyTorch's part of the relay: torch_leg.py BATCHES DTYPE FIRST COUNT new|FOLDER TARGET.onnx|saved|none

Trains a new network, or one that `onward export --to torch` wrote, for COUNT steps, hands the job over, and goes
on for as many steps. Prints the losses of all. With `none` it ends after COUNT steps.
"""

import json
import sys

import numpy as np
import torch
from torch import nn


def new_job():
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(1568, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=1e-3)


def main():
    batches, dtype, first, count, source, target = sys.argv[1:]
    first, count = int(first), int(count)
    torch.set_default_dtype(getattr(torch, dtype))
    data = np.load(batches)
    images, labels = torch.from_numpy(data["image"]), torch.from_numpy(data["label"])
    if source == "new":
        model, loss_function, optimizer = new_job()
    else:
        sys.path.insert(0, source)
        import model as exported
        model, loss_function, optimizer = exported.load()
    model.train()

    losses = []
    for step in range(first, first + (count if target == "none" else 2 * count)):
        if step == first + count:
            if target == "saved":
                exported.save(model, optimizer)
            else:
                import onward.torch
                onward.torch.export(model, loss_function, optimizer, (images[0],), input_names=["image"]).save(target)
        optimizer.zero_grad()
        loss = loss_function(model(images[step]), labels[step])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps(losses))


main()
