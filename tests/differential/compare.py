"""Whether two results are the same, as far as rounding lets them."""

import numpy as np
import values

# Of the larger of the element and the largest element of the tensor (at least 1).
TOLERANCE = {"float": 3e-5, "double": 1e-11, "float16": 6e-3, "bfloat16": 5e-2}


def kind_of(array):
    return f"{values.NAMES.get(array.dtype, array.dtype)}{list(array.shape)}"


def allowed(array):
    """How far elements may be off; 0 for what is no float."""
    tolerance = TOLERANCE.get(values.NAMES.get(array.dtype), 0.0)
    if not tolerance:
        return np.zeros(array.shape)
    numbers = np.abs(values.as_double(array))
    largest = max(1.0, np.max(numbers, initial=0.0, where=np.isfinite(numbers)))
    return np.full(array.shape, tolerance * min(largest, 1e3) if largest < np.inf else tolerance) + \
        tolerance * np.where(np.isfinite(numbers), numbers, 0)


def off(left, right):
    """The elements' distances: 0 where both are the same infinity or both NaN, infinite where one is; of
    integers at least 1, though they may be none that a double has."""
    a, b = values.as_double(left), values.as_double(right)
    with np.errstate(invalid="ignore"):
        distance = np.abs(a - b)
    if not values.is_float(left):
        return np.where(left == right, 0.0, np.maximum(distance, 1.0))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))


def difference(left, right, slack=0.0, values_too=True):
    """What differs between two arrays, in words; None where nothing does."""
    if kind_of(left) != kind_of(right):
        return f"{kind_of(left)} against {kind_of(right)}"
    if not values_too or left.size == 0:
        return None
    distance = off(left, right)
    with np.errstate(invalid="ignore"):
        too_far = ~(distance <= allowed(left) + slack)
    if not too_far.any():
        return None
    at = np.unravel_index(np.argmax(np.where(too_far, distance, -1)), left.shape)
    count = int(too_far.sum())
    return f"{left[at]} against {right[at]} at {[int(i) for i in at]}, {count} of {left.size} elements"


def differences(left, right, slack=None, only_kinds=()):
    """The outputs that differ, with what differs."""
    found = {}
    for name in left.keys() | right.keys():
        if name not in left or name not in right:
            found[name] = "missing on one side"
        else:
            reason = difference(left[name], right[name], (slack or {}).get(name, 0.0), name not in only_kinds)
            if reason:
                found[name] = reason
    return dict(sorted(found.items()))
