"""Attention, whose scale ONNX's reference evaluator roots in float32, whose raw products it gives capped, and of whose
masks it takes one for all queries as one for the first."""

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_attention import _compute_attention


class Attention(OpRun):
    op_domain = ""

    def _run(self, *inputs, scale=None, softcap=None, qk_matmul_output_mode=None, **others):
        scale = None if scale is None else float(scale)
        inputs = list(inputs)
        if len(inputs) > 3 and inputs[3] is not None:
            queries = inputs[0].shape[-2]
            *before, last = inputs[3].shape
            inputs[3] = np.broadcast_to(inputs[3], (*before[:-1], queries, last)).copy()
        results = _compute_attention(*inputs, scale=scale, softcap=softcap,
                                     qk_matmul_output_mode=qk_matmul_output_mode, **others)
        if not qk_matmul_output_mode and softcap:
            raw = _compute_attention(*inputs, scale=scale, qk_matmul_output_mode=0, **others)[3]
            results = (*results[:3], raw)
        return tuple(results[:len(self.onnx_node.output)])


ATTENTION = [Attention]
