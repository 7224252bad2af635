"""What the tests of all folders share."""

import functools
import sys


def pytest_collection_finish():
    """PyTorch's exporter reads the source of all its functions again for each model, which is half of an export."""
    if "torch" not in sys.modules:
        return
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    ONNXRegistry.from_torchlib = staticmethod(functools.cache(ONNXRegistry.from_torchlib))
