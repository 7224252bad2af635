"""Nodes of normalizations by groups of channels, and by norms."""

from graph import Unsuitable
from operators_shape import axis_of


def normalization_of_channels(op):
    def add(g):
        if op == "GroupNormalization" and g.opset < 21:
            raise Unsuitable("the standard's checker refuses the form before opset 21, as deprecated")
        x = g.operand(op, rank=range(3, 5), smallest=1)
        channels = x.shape[1]
        attributes = {"epsilon": g.one_of(None, 0.25)}
        if op == "GroupNormalization":
            attributes["num_groups"] = g.one_of(*[n for n in range(1, channels + 1) if channels % n == 0])
        scale, bias = (g.operand(op, 1, x.type, shape=(channels,)) for _ in range(2))
        g.add(op, [x, scale, bias], [(x.type, x.shape)], **attributes)

    return add


def rms_normalization(g):
    x = g.operand("RMSNormalization", rank=range(1, 5), smallest=1)
    axis = g.one_of(None, *range(-x.rank, x.rank))
    scale = g.operand("RMSNormalization", 1, x.type, shape=x.shape[-1 if axis is None else axis:])
    g.add("RMSNormalization", [x, scale], [(x.type, x.shape)], axis=axis, epsilon=g.one_of(None, 0.25))


def mean_variance_normalization(g):
    # Without axes, the standard's own inference fails.
    x = g.operand("MeanVarianceNormalization", rank=4, smallest=2)
    g.add("MeanVarianceNormalization", [x], [(x.type, x.shape)], axes=g.one_of([0, 2, 3], [0, 1, 2, 3], [2, 3]))


def lp_normalization(g):
    x = g.operand("LpNormalization", rank=range(1, 5), smallest=1)
    if g.smooth:
        x = g.positive(x)
    g.add("LpNormalization", [x], [(x.type, x.shape)], axis=g.one_of(None, axis_of(g, x.rank)), p=g.one_of(None, 1, 2))


def lrn(g):
    x = g.operand("LRN", rank=4, smallest=1)
    g.add("LRN", [x], [(x.type, x.shape)], size=g.one_of(1, 3, 5), alpha=g.one_of(None, 0.5), beta=g.one_of(None, 0.5),
          bias=g.one_of(None, 2.0))


OPERATORS = {
    "GroupNormalization": normalization_of_channels("GroupNormalization"),
    "InstanceNormalization": normalization_of_channels("InstanceNormalization"),
    "LRN": lrn,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
}
