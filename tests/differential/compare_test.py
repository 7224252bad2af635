"""What counts as a difference."""

import numpy as np
import pytest
from compare import difference, differences


def floats(*numbers):
    return np.array(numbers, np.float32)


@pytest.mark.parametrize("left, right, differs", [
    (floats(1, 2), floats(1, 2), False),
    (floats(1, 2), floats(1, 2.00001), False),
    (floats(1, 2), floats(1, 2.001), True),
    (floats(np.nan, np.inf), floats(np.nan, np.inf), False),
    (floats(np.inf), floats(-np.inf), True),
    (floats(np.nan), floats(1), True),
    (floats(1), floats(np.nan), True),
    (floats(0.0), floats(-0.0), False),
    (floats(1), np.array([1.0]), True),
    (floats(1), floats(1, 1), True),
    (np.array([3]), np.array([3]), False),
    (np.array([2**60]), np.array([2**60 + 1]), True),
    (np.array([True]), np.array([False]), True),
    (np.array([1.0]), np.array([1.0 + 1e-9]), True),
    (np.array([1], np.float16), np.array([1.004], np.float16), False),
    (np.zeros((0, 3)), np.zeros((0, 3)), False),
    (np.zeros((0, 3)), np.zeros((0, 4)), True),
])
def test_difference(left, right, differs):
    assert (difference(left, right) is not None) == differs


def test_slack_is_by_element():
    assert difference(floats(1, 2), floats(1.5, 2), slack=np.array([0.6, 0])) is None
    assert difference(floats(1, 2), floats(1.5, 2), slack=np.array([0, 0.6]))


def test_differences_are_by_output():
    left, right = {"a": floats(1), "b": floats(2)}, {"a": floats(1), "b": floats(3), "c": floats(0)}
    assert differences(left, right).keys() == {"b", "c"}
    assert differences(left, {"a": floats(9), "b": floats(2)}, only_kinds={"a"}) == {}
