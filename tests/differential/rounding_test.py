"""What rounding explains, and what it does not."""

import numpy as np
import pytest
from compare import differences
from onnx import parser
from rounding import slack
from sides import Sides

# A small difference of large numbers: the last digits of a result are rounding.
CANCELS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[3] x) => (float[3] y) <float[1] c = {20000}> { a = Tanh(x)  b = Add(a, c)  y = Sub(b, c) }"""


@pytest.fixture
def sides():
    made = Sides()
    yield made
    made.close()


def test_what_cancels_is_explained_and_no_more(sides):
    model = parser.parse_model(CANCELS)
    inputs = {"x": np.array([0.1, 0.2, 0.3], np.float32)}
    types = {name: ("float", (3,)) for name in "aby"}
    exact = sides.reference(model, inputs).outputs
    room = slack(lambda each: sides.reference(each, inputs), model, types, exact, 0)
    by_rounding = {"y": exact["y"] + np.float32(0.002)}
    assert differences(exact, by_rounding) and not differences(exact, by_rounding, room)
    assert differences(exact, {"y": exact["y"] + np.float32(0.5)}, room)


ADDED_UP = np.array([1e4, 0.5, -1e4, 0.25], np.float32)


@pytest.mark.parametrize("node, is_explained", [("ReduceMean", True), ("ReduceMax", False)])
def test_what_is_given_is_disturbed_where_it_is_added_up(sides, node, is_explained):
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
      g (float[4] x) => (float[1] y) {{ y = {node}(x) }}""")
    exact = sides.reference(model, {"x": ADDED_UP}).outputs
    room = slack(lambda each: sides.reference(each, {"x": ADDED_UP}), model,
                 {"x": ("float", (4,)), "y": ("float", (1,))}, exact, 0)
    largest = np.abs(exact["y"]).max()
    off_by_rounding = {"y": exact["y"] + np.float32(1e-4 * max(1, largest))}
    assert (not differences(exact, off_by_rounding, room)) == is_explained
    assert differences(exact, {"y": exact["y"] + np.float32(0.1 * max(1, largest))}, room)
