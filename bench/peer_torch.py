"""PyTorch, eager: peer_torch.py WORKLOAD SECONDS THREADS"""

import sys

import torch
from measure import measure
from torch import nn

BATCH = 64


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)), (784, )


def cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)


def main():
    workload, seconds, threads = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, dims = {"mlp": mlp, "cnn": cnn}[workload]()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loss_function = nn.CrossEntropyLoss()
    x, label = torch.randn(BATCH, *dims), torch.randint(10, (BATCH, ))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_function(model(x), label)
        loss.backward()
        optimizer.step()
        return loss.item()

    measure("torch", step, seconds)


main()
