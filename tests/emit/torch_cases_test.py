"""Every operator case, said in PyTorch, gives what Onward computes."""

import pytest
import torch

from emitted import module_of, refusals, written_cases, wrong_values

# What PyTorch's source refuses, and why.
REFUSED = {
    ("BatchNormalization under a mean", "inputs of symbolic shapes"):
        "GlobalAveragePool 'y': the rank of its input 'r' is not known; declare the input's shape",
    ("Conv same lower", "inputs of symbolic shapes"): "Conv 'y': the kernel's shape is not known: 'w'",
    ("Conv same upper", "inputs of symbolic shapes"): "Conv 'y': the kernel's shape is not known: 'w'",
    ("Conv same, strides beyond the window", "inputs of symbolic shapes"):
        "Conv 'y': the kernel's shape is not known: 'w'",
    **{(case, "inputs of symbolic shapes"): "ConvTranspose 'y': the kernel's shape is not known: 'w'"
       for case in ("ConvTranspose same lower, a stride beyond the kernel", "ConvTranspose same upper")},
    ("ReduceSum of nothing", "inputs of symbolic shapes"):
        "ReduceSum 'y': whether it has axes is only known when it runs",
}

# nn.Embedding knows no indices that count from the end.
RAISED = {("Gather", "first input held"): "index out of range in self"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return written_cases("torch", tmp_path_factory.mktemp("torch"))


def run(folder, feeds):
    model = module_of(folder).load()
    with torch.no_grad():
        results = model(*(torch.from_numpy(feed) for feed in feeds))
    return [result.numpy() for result in (results if isinstance(results, tuple) else [results])]


def test_values(cases):
    assert len(cases) > 400
    assert wrong_values(cases, run, RAISED) == []


def test_refusals(cases):
    assert refusals(cases) == REFUSED
