"""Losses with all their settings: 20 steps in float64 change the weights as in PyTorch."""

import loss_job as job
import numpy as np
import pytest
import torch
from torch.nn import functional as F

WEIGHTS = torch.tensor(job.WEIGHTS, dtype=torch.float64)
BY_CLASS = ["--class-weights", "0.5,1.5,2"]


def cross_entropy(**settings):
    """Of classes in the last dimension; PyTorch has them in dimension 1."""
    return lambda y, z: F.cross_entropy(y.movedim(-1, 1), z.movedim(-1, 1) if z.is_floating_point() else z, **settings)


def focal(gamma, alpha):
    """With PyTorch's own cross entropy."""
    def loss(y, z):
        p = torch.sigmoid(y)
        right = z * p + (1 - z) * (1 - p)
        each = (1 - right) ** gamma * F.binary_cross_entropy_with_logits(y, z, reduction="none")
        return (each * (z * alpha + (1 - z) * (1 - alpha)) if alpha else each).mean()
    return loss


# Options, the label, what the model ends in, and PyTorch's loss.
CASES = {
    "softmax_cross_entropy": ([], "classes", None, cross_entropy()),
    "softmax_cross_entropy smoothed": (["--label-smoothing", "0.2"], "classes", None, cross_entropy(label_smoothing=0.2)),
    "softmax_cross_entropy weights": (BY_CLASS, "classes", None, cross_entropy(weight=WEIGHTS)),
    "softmax_cross_entropy both": ([*BY_CLASS, "--label-smoothing", "0.2"], "classes", None,
                                   cross_entropy(weight=WEIGHTS, label_smoothing=0.2)),
    "softmax_cross_entropy all": ([*BY_CLASS, "--label-smoothing", "0.2", "--ignore-index", "1"], "classes", None,
                                  cross_entropy(weight=WEIGHTS, label_smoothing=0.2, ignore_index=1)),
    "softmax_cross_entropy ignored, summed": (["--ignore-index", "1", "--label-smoothing", "0.1", "--reduction", "sum"],
                                              "classes", None,
                                              cross_entropy(ignore_index=1, label_smoothing=0.1, reduction="sum")),
    "categorical_cross_entropy": ([], "shares", None, cross_entropy()),
    "categorical_cross_entropy both": ([*BY_CLASS, "--label-smoothing", "0.2"], "shares", None,
                                       cross_entropy(weight=WEIGHTS, label_smoothing=0.2)),
    "nll": ([], "classes", "LogSoftmax", lambda y, z: F.nll_loss(y.movedim(-1, 1), z)),
    "nll weights": ([*BY_CLASS, "--ignore-index", "0"], "classes", "LogSoftmax",
                    lambda y, z: F.nll_loss(y.movedim(-1, 1), z, weight=WEIGHTS, ignore_index=0)),
    "mse": ([], "numbers", None, F.mse_loss),
    "l1": ([], "numbers", None, F.l1_loss),
    "smooth_l1": ([], "numbers", None, F.smooth_l1_loss),
    "smooth_l1 beta": (["--beta", "0.3"], "numbers", None, lambda y, z: F.smooth_l1_loss(y, z, beta=0.3)),
    "smooth_l1 without beta": (["--beta", "0"], "numbers", None, lambda y, z: F.smooth_l1_loss(y, z, beta=0)),
    "huber": ([], "numbers", None, F.huber_loss),
    "huber delta": (["--delta", "0.3", "--reduction", "sum"], "numbers", None,
                    lambda y, z: F.huber_loss(y, z, delta=0.3, reduction="sum")),
    "bce": ([], "probabilities", "Sigmoid", F.binary_cross_entropy),
    "bce_with_logits": ([], "probabilities", None, F.binary_cross_entropy_with_logits),
    "bce_with_logits pos_weight": (["--pos-weight", "2.5"], "probabilities", None, lambda y, z:
                                   F.binary_cross_entropy_with_logits(y, z, pos_weight=torch.tensor(2.5, dtype=y.dtype))),
    "bce_with_logits focal": (["--focal-gamma", "2"], "bits", None, focal(2, 0)),
    "bce_with_logits focal alpha": (["--focal-gamma", "1.5", "--focal-alpha", "0.25"], "bits", None, focal(1.5, 0.25)),
    "kl_divergence": ([], "shares", "LogSoftmax", F.kl_div),
    "kl_divergence log_target": (["--log-target", "1", "--reduction", "sum"], "numbers", "LogSoftmax",
                                 lambda y, z: F.kl_div(y, z, log_target=True, reduction="sum")),
    "poisson": ([], "probabilities", None, F.poisson_nll_loss),
    "poisson of rates": (["--log-input", "0", "--log-epsilon", "1e-4"], "probabilities", "Sigmoid",
                         lambda y, z: F.poisson_nll_loss(y, z, log_input=False, eps=1e-4)),
}
ENDS = {None: lambda s: s, "Sigmoid": torch.sigmoid, "LogSoftmax": lambda s: torch.log_softmax(s, -1)}


@pytest.mark.parametrize("places", [(), (5,)], ids=["rows", "places"])
@pytest.mark.parametrize("name", CASES)
def test_equals_torch(name, places, tmp_path):
    options, label, last, loss = CASES[name]
    kind = name.split()[0]
    if places and (label in ("classes", "shares") and kind != "kl_divergence"):
        options = [*options, "--class-axis", "-1"]
    first, data = job.first_weights(), job.batches(label, places)
    losses, ours = job.train(tmp_path, first, data, ["--loss", kind, *options], last)
    parameters = {key: torch.tensor(array, requires_grad=True) for key, array in first.items()}
    optimizer = torch.optim.SGD(parameters.values(), lr=0.1)
    for expected, batch in zip(losses, data, strict=True):
        optimizer.zero_grad()
        scores = torch.tensor(batch["x"]) @ parameters["w"] + parameters["b"]
        value = loss(ENDS[last](scores), torch.tensor(batch["label"]))
        value.backward()
        optimizer.step()
        assert np.isclose(value.item(), expected, rtol=1e-9)
    job.assert_same_change(first, ours, {key: each.detach().numpy() for key, each in parameters.items()})
