"""A refusal is meant only where every line of it is."""

import pytest
import refusals

STEP = "the step cannot be written in opset 13:\n  node 'a' (Pad): mode = 'wrap' is new in opset 19"


@pytest.mark.parametrize("reason, is_meant", [
    (STEP, True),
    (STEP + "\n  node 'b' (Reshape): its shape is computed and may contain a literal zero", True),
    (STEP + "\nopset 19 can express it", True),
    (STEP + "\n  nodes 'b', 'c' (Gelu): it was added in opset 20\nopset 20 can express it", True),
    (STEP + "\n  nodes 'b', 'c', 'd' and 5 more (CumProd): it was added in opset 26\nopset 26 can express it", True),
    (STEP + "\n  node 'b' (BitShift), tensor 'x': input 0 'x' is i8, but BitShift takes u16, u8\nopset 28 can express it", True),
    (STEP + "\n  node 'b' (Relu): its version of opset 6 is not supported", False),
    ("there is no mean of no integers\n  in node 'y' (ReduceMean)", True),
    ("inner dimensions differ: 784 and 512", False),
])
def test_explanation(reason, is_meant):
    assert (refusals.explanation(reason) is not None) == is_meant
