"""Refusals of Onward that are meant: part of its first line, and why."""

import re

EXPLAINED = [
    (r"is bf16, but Pow takes f16", "the standard's exponents are no bfloat16"),
    (r"^there is no mean of no integers", "0 / 0 is no integer"),
    (r"'loss' depends on it only through operators without a gradient: (ArgMax|ArgMin|Cast|CastLike|Ceil|Dropout|Floor|Hardmax|IsInf|IsNaN|MaxRoiPool|OneHot|Round|Sign) ",
     "an operator on the way has no gradient by the standard's tags"),
    (r"^Dropout \(node '.*'\) has no gradient with respect to its input 1", "the mask of Dropout is drawn by the ratio"),
    (r"^no gradient of 'loss' reaches", "an operator on the way has no gradient by nature"),
    (r"^the step cannot be written in the standard's operators:(\n  nodes? '.*' \(onward\.\w+\): it is internal to Onward, and cannot "
     r"be decomposed: the rank of '.*' must be known|\n  and \d+ more)+\ndeclare the shapes of the model's inputs.*$",
     "ranks are declared, where a step is lowered"),
    (r"the size of '.*' must be known to compute its padding", "sizes are declared, where windows leave gaps"),
    (r"cannot be upgraded: axis is \d, and the rank of '.*' is not known", "broadcasting of opset 6 needs ranks"),
    (r"PRelu of opset 6 cannot be upgraded: the channels of '.*' \(.*\) can't be matched with '.*' \(\w+\[\.\.\.\]\)",
     "slopes of opset 6 need ranks"),
    (r"Pool of opset [12]\d cannot be upgraded: with ceil_mode, .* is not known", "ceil_mode of old opsets needs sizes"),
    (r"(Erf|ReduceLogSum|ReduceLogSumExp) of opset \d+ cannot be upgraded: .* is of type u?int",
     "no integers since: Erf's up to opset 12, and those of which reductions take logarithms, whose rounding nobody says"),
    (r"(Quantize|Dequantize)Linear of opset \d+ cannot be upgraded: what a scale .* means for '.*' \w+\[\.\.\.\] has changed",
     "a scale of old opsets needs ranks"),
    (r"^the rank of '.*' must be known\n  in the gradient of node '.*' \(RotaryEmbedding\)",
     "num_heads is read of three dimensions, and not of four"),
    (r"^the number of channels of '.*' must be known\n  in the gradient of node '.*' \(CausalConvWithState\)",
     "each channel is a group of the convolution that it is"),
    (r"Resize of opset 10 cannot be upgraded: whether it samples up or down is known only when it runs",
     "opset 10 rounds down the places of the one, and up those of the other"),
    (r"^an integer is divided by zero", "the standard says nothing of what comes of it"),
]

# What an older opset cannot express of a step, each on a line of its own.
UNSAYABLE = re.compile(
    r"nodes? '.*'(?: and \d+ more)? \(\w+\)(?:, tensor '.*')?: (it was added in opset \d+$|.* is new in opset \d+|"
    r"its shape (is computed and may contain|contains) a literal zero|its axes are computed|"
    r"it is unknown whether '.*' splits into \d+ equal parts|the rank of '.*' must be known|"
    r"a window that begins behind the input is left out since opset 22|input \d+ '.*' is \w+, but \w+ takes)")


def explanation(reason):
    first, *complaints = re.sub(r"\nopset \d+ can express it$", "", reason).split("\n  ")
    if re.fullmatch(r"the step cannot be written in opset \d+:", first):
        return "the step needs what only newer opsets say" if all(map(UNSAYABLE.match, complaints)) else None
    for pattern, why in EXPLAINED:
        if re.search(pattern, reason):
            return why
    return None
