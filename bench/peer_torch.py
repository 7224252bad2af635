"""PyTorch, eager: peer_torch.py WORKLOAD BATCH SECONDS THREADS"""

import sys

import torch
from measure import measure
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)), (784, )


def cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)


def cnn_bn():
    def part(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    return nn.Sequential(*part(3, 32), *part(32, 64), nn.MaxPool2d(2), *part(64, 64), *part(64, 64),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), (3, 32, 32)


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))
        self.wide, self.narrow, self.fc = nn.Linear(size, 4 * size), nn.Linear(4 * size, size), nn.Linear(size, 10)

    def forward(self, x):
        normal = self.norm1(x)
        q, k, v = (part(normal).unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for part in (self.query, self.key, self.value))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        x = x + self.narrow(nn.functional.gelu(self.wide(self.norm2(x))))
        return self.fc(x.mean(1))


def block():
    return Block(256, 4), (32, 256)


class Scan(nn.Module):
    """The loop of the workload, in Python."""

    def __init__(self, size):
        super().__init__()
        self.cell, self.fc = nn.LSTMCell(size, size), nn.Linear(size, 10)

    def forward(self, x):
        state = None
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.fc(state[0])


def scan():
    return Scan(64), (32, 64)


def main():
    workload, batch, seconds, threads = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, dims = {"mlp": mlp, "cnn": cnn, "cnn_bn": cnn_bn, "block": block, "scan": scan}[workload]()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loss_function = nn.CrossEntropyLoss()
    x, label = torch.randn(batch, *dims), torch.randint(10, (batch, ))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_function(model(x), label)
        loss.backward()
        optimizer.step()
        return loss.item()

    measure("torch", step, seconds)


main()
