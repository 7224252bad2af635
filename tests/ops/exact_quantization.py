"""Quantized products, of which ONNX's reference evaluator takes rows for columns and rounds after the zero point."""

import numpy as np
from onnx.reference.op_run import OpRun


def beside_rows(value):
    """A vector is one number for each row."""
    return value.reshape(-1, 1) if value.ndim == 1 and value.size > 1 else value


def requantized(product, multiplier, zero_point):
    steps = np.rint(product.astype(np.float32) * multiplier.astype(np.float32)).astype(np.int64)
    limits = np.iinfo(zero_point.dtype)
    return np.clip(steps + zero_point.astype(np.int64), limits.min, limits.max).astype(zero_point.dtype)


class MatMulInteger(OpRun):
    op_domain = ""

    def _run(self, a, b, a_zero=0, b_zero=0):
        a_zero = beside_rows(np.asarray(a_zero)).astype(np.int32)
        return ((a.astype(np.int32) - a_zero) @ (b.astype(np.int32) - np.asarray(b_zero).astype(np.int32)),)


class QLinearMatMul(OpRun):
    op_domain = ""

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        product = ((a.astype(np.int32) - beside_rows(a_zero).astype(np.int32)) @
                   (b.astype(np.int32) - b_zero.astype(np.int32)))
        return (requantized(product, beside_rows(a_scale) * b_scale / y_scale, y_zero),)


QUANTIZED = [MatMulInteger, QLinearMatMul]
