"""PyTorch: peer_torch.py NAME eager|channels_last|compile SECONDS THREADS"""

import sys

import networks
import torch
from measure import measure


def main():
    name, mode, seconds, threads = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(threads)
    job = networks.job(name)
    network, x, label = job.network, job.x, job.label
    optimizer, loss_function = job.torch_optimizer(), job.torch_loss()
    if mode == "channels_last":
        network, x = network.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)

    def forward(x, label):
        return loss_function(network(x), label)

    if mode == "compile":
        forward = torch.compile(forward)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward(x, label)
        loss.backward()
        optimizer.step()
        return loss.item()

    measure(f"torch {mode}", step, seconds)


main()
