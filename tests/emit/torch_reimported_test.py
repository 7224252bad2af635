"""Operator cases that went to PyTorch come back by `onward.torch.export`, or are refused with the reason."""

import torch
from torch import nn

import onward
import onward.torch
from emitted import module_of
from reimported import rows_of, wrong_imports

# What is refused, by the reason.
REFUSED: dict[str, tuple] = {
    "args is empty": ("RandomNormal", "RandomUniform"),
    "_assert_scalar in Tested": (
        "Compress", "Compress axis -2", "Compress axis 1", "ConstantOfShape", "HannWindow of a size that is an input",
        "MaxRoiPool", "MaxRoiPool beyond the images", "MaxRoiPool of scaled regions", "RoiAlign beyond the images",
        "RoiAlign max of as many points as elements", "RoiAlign of as many points as elements",
        "RoiAlign of regions turned over", "RoiAlign of scaled regions", "RoiAlign of small regions", "Unique",
        "Unique as they come", "Unique floats", "Unique slices", "Unique slices of floats"),
    "nan_to_num in Tested": (
        "DynamicQuantizeLinear", "DynamicQuantizeLinear of positive numbers", "QLinearConv", "QLinearConv same lower",
        "QLinearConv with all that there is", "QLinearMatMul", "QLinearMatMul by rows and columns", "QuantizeLinear",
        "QuantizeLinear axis", "QuantizeLinear by channels", "QuantizeLinear in blocks", "QuantizeLinear of the default type",
        "QuantizeLinear precision", "QuantizeLinear to 16 bits"),
    "scatter_reduce in Tested": (
        "Col2Im", "Col2Im 1 dimension", "Col2Im 3 dimensions", "Col2Im dilations", "Col2Im of shapes that are inputs",
        "Col2Im pads and strides", "ScatterElements add", "ScatterElements max", "ScatterElements min", "ScatterElements mul",
        "ScatterND add", "ScatterND max", "ScatterND min", "ScatterND mul"),
    "scatter in Tested": (
        "Hardmax", "Hardmax of ties", "MaxUnpool of one dimension", "MaxUnpool pads", "MaxUnpool to a shape",
        "ScatterElements", "ScatterElements axis 1", "ScatterND", "ScatterND of elements", "TensorScatter",
        "TensorScatter at places", "TensorScatter axis", "TensorScatter in a circle"),
    "cross_entropy_loss in Tested": (
        "SoftmaxCrossEntropyLoss", "SoftmaxCrossEntropyLoss ignored", "SoftmaxCrossEntropyLoss none",
        "SoftmaxCrossEntropyLoss of images", "SoftmaxCrossEntropyLoss of images, ignored and weighted",
        "SoftmaxCrossEntropyLoss sum", "SoftmaxCrossEntropyLoss weights", "SoftmaxCrossEntropyLoss weights and log_prob",
        "SoftmaxCrossEntropyLoss with log_prob"),
    "var_mean in Tested": (
        "BatchNormalization batch", "BatchNormalization batch Relu", "BatchNormalization batch Relu of vectors",
        "BatchNormalization between convolutions", "BatchNormalization of a wide plane", "BatchNormalization running",
        "BatchNormalization under a mean"),
    "__and_ in Tested": (
        "BitShift", "CenterCropPad", "CenterCropPad axes", "Resize cubic, within the input",
        "Resize cubic, without aliases, within the input", "Resize linear, within the input"),
    "__or_ in Tested": (
        "MaxPool overlapping", "MaxPool same", "Resize nearest of a region beyond the input", "Resize of a given region",
        "Resize of a region", "Resize of a region beyond the input"),
    "remainder in Tested": (
        "Mod", "Mod of a negative divisor", "Mod of integers", "Pad reflect", "Pad wrap", "STFT of a step that is an input"),
    "scaled_dot_product_attention in Tested": (
        "Attention", "Attention causal", "Attention of heads that share keys", "Attention scale", "Attention with a mask",
        "Attention with what is added"),
    "Could not guard on data-dependent expression": (
        "If of data, two results", "Loop whose condition does not hold at first", "Loop with a condition that data ends",
        "NonMaxSuppression", "NonMaxSuppression of centers"),
    "cumprod in Tested": (
        "CumProd", "CumProd exclusive", "CumProd exclusive in reverse", "CumProd reverse", "CumProd with zeros"),
    "nll_loss_nd in Tested": (
        "NegativeLogLikelihoodLoss", "NegativeLogLikelihoodLoss none", "NegativeLogLikelihoodLoss sum",
        "NegativeLogLikelihoodLoss weights, ignored", "NegativeLogLikelihoodLoss weights, none"),
    "sort in Tested": ("TopK", "TopK axis 0", "TopK in any order", "TopK of its indices", "TopK smallest"),
    "group_norm in Tested": (
        "GroupNormalization", "GroupNormalization epsilon", "InstanceNormalization", "InstanceNormalization epsilon"),
    "linalg_det in Tested": ("Det", "Det of a matrix without an inverse", "Det of many", "Det of one number"),
    "celu in Tested": ("Celu", "Celu alpha", "Celu of a negative alpha"),
    "rand_like in Tested": ("Bernoulli", "Dropout of the default ratio", "RandomUniformLike"),
    "upsample_bilinear2d in Tested": ("Resize linear at the corners", "Resize linear to sizes", "Resize of nothing"),
    "empty in Tested": ("Loop of no iteration", "Scan of nothing"),
    "fmod in Tested": ("Mod as fmod", "Mod as fmod of a negative divisor"),
    "log_sigmoid in Tested": ("RNN of Relu and Softplus", "Softplus"),
    "upsample_nearest2d in Tested": ("Resize images by nearest elements", "Resize nearest as rows"),
    "adaptive_max_pool1d in Tested": ("GlobalMaxPool 1 dimension",),
    "adaptive_max_pool2d in Tested": ("GlobalMaxPool",),
    "adaptive_max_pool3d in Tested": ("GlobalMaxPool 3 dimensions",),
    "bitwise_and in Tested": ("BitwiseAnd",),
    "bitwise_not in Tested": ("BitwiseNot",),
    "bitwise_or in Tested": ("BitwiseOr",),
    "broadcast_tensors in Tested": ("Max of three broadcast",),
    "dropout in Tested": ("Dropout in training",),
    "isneginf in Tested": ("IsInf on one side",),
    "multinomial in Tested": ("Multinomial",),
    "pixel_shuffle in Tested": ("DepthToSpace of columns and rows",),
    "pixel_unshuffle in Tested": ("SpaceToDepth of columns and rows",),
    "randn_like in Tested": ("RandomNormalLike",),
    "upsample_bicubic2d in Tested": ("Resize cubic at the corners",),
    "view in Tested 'cases.0' with dtype": ("BitCast",),
}


class Several(nn.Module):
    """Several cases side by side, their results in one row, and something to train."""

    def __init__(self, modules, counts):
        super().__init__()
        self.cases, self.counts = nn.ModuleList(modules), counts
        self.weight = nn.Parameter(torch.ones(1, dtype=torch.float64))

    def forward(self, *inputs):
        rows = []
        for module, count in zip(self.cases, self.counts, strict=True):
            given, inputs = inputs[:count], inputs[count:]
            results = module(*given)
            rows += [each.reshape(-1).to(self.weight.dtype)
                     for each in (results if isinstance(results, tuple) else [results])]
        return torch.cat(rows) * self.weight


def imported(members):
    module = Several([module_of(member.folder).load() for member in members], [len(member.feeds) for member in members])
    module.training = True  # the cases themselves stay in evaluation mode
    feeds = [feed for member in members for feed in member.feeds]
    optimizer = torch.optim.SGD([module.weight], lr=0.1)
    model = onward.torch.export(module, nn.MSELoss(), optimizer, tuple(map(torch.from_numpy, feeds)), batch=None)
    results = onward.Trainer(model).infer({each.name: feed for each, feed in zip(model.inputs, feeds, strict=True)})
    return rows_of(members, results["output"])


def test_cases_come_back_as_modules(torch_cases):
    assert wrong_imports(torch_cases, REFUSED, imported) == []
