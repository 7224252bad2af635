"""What is known of the others: results of ONNX Runtime, or of ONNX's reference evaluator, that are theirs
alone, each with its cause and a predicate on a single node with its inputs, as narrow as possible."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Known:
    ops: tuple
    cause: str
    applies: Callable  # (SingleNode) -> bool


ONNX_RUNTIME = []

REFERENCE_EVALUATOR = []

# Where the standard leaves a result open, nobody is wrong.
UNDEFINED = []


def find(table, single):
    for entry in table:
        if single.node.op_type in entry.ops and entry.applies(single):
            return entry
    return None
