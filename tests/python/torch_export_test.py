"""A training that begins in PyTorch goes on in Onward as if it had not moved, in float64."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_training import assert_goes_on

import onward
import onward.torch

EPS = 2.0**-16  # exact in float32, as an attribute must be


class Cnn(nn.Module):
    """Convolutions, both kinds of normalization, and what lies between."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(4, eps=EPS)
        self.conv2 = nn.Conv2d(4, 6, 3, stride=2, bias=False)
        self.norm2 = nn.BatchNorm2d(6, eps=EPS, momentum=0.25)
        self.hidden = nn.Linear(24, 8)
        self.norm3 = nn.LayerNorm(8, eps=EPS)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        x = nn.functional.max_pool2d(self.norm2(self.conv2(x)), 2, stride=1)
        x = nn.functional.gelu(self.norm3(self.hidden(torch.flatten(x, 1))))
        return self.head(x)


def images(random, steps):
    for _ in range(steps):
        yield (torch.from_numpy(random.normal(size=(6, 1, 8, 8))), torch.from_numpy(random.integers(0, 5, 6)))


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "sgd weight decay": lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9),
    "momentum dampened": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, dampening=0.3, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.003),
    "adam weight decay": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.003, dtype=torch.float64), betas=(0.8, 0.95),
                                                    weight_decay=0.01),
    "adam decoupled": lambda p: torch.optim.Adam(p, lr=0.003, weight_decay=0.1, decoupled_weight_decay=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.1),
    "adam with amsgrad": lambda p: torch.optim.Adam(p, lr=0.003, betas=(0.9, 0.8), amsgrad=True),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.003, weight_decay=0.01),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.003, weight_decay=0.01),
    "radam decoupled": lambda p: torch.optim.RAdam(p, lr=0.003, weight_decay=0.01, decoupled_weight_decay=True),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5, rho=0.8, weight_decay=0.01),
    "rprop": lambda p: torch.optim.Rprop(p, lr=0.003, etas=(0.4, 1.3), step_sizes=(1e-4, 0.1)),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.02, lr_decay=0.01, initial_accumulator_value=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.003),
    "rmsprop of other numbers": lambda p: torch.optim.RMSprop(p, lr=0.003, alpha=0.9, eps=1e-5, weight_decay=0.01,
                                                              momentum=0.8, centered=True),
}


@pytest.mark.parametrize("name, begun", [*((name, 5) for name in OPTIMIZERS), ("momentum dampened", 0), ("adam", 0),
                                         ("adagrad", 0)])
def test_a_cnn_goes_on(name, begun):
    torch.manual_seed(1)
    model = Cnn().double()
    if name == "rprop":  # it goes by signs, and the gradient of a bias before BatchNorm is rounding alone
        model.conv1.bias.requires_grad_(False)
    optimizer = OPTIMIZERS[name](each for each in model.parameters() if each.requires_grad)
    batches = images(np.random.default_rng(2), begun + 50)
    assert_goes_on(model, nn.CrossEntropyLoss(), optimizer, batches, begun)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_cnn_goes_on_in_single_precision(name):
    torch.manual_seed(1)
    model = Cnn()
    optimizer = OPTIMIZERS[name](model.parameters())
    batches = [(x.float(), label) for x, label in images(np.random.default_rng(2), 30)]
    assert_goes_on(model, nn.CrossEntropyLoss(), optimizer, batches, begun=10, steps=20, within=1e-3,
                   compare_state=False)  # the gradient of a bias before BatchNorm is rounding alone


class Mlp(nn.Module):
    def __init__(self, last=None):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)
        self.last = last or nn.Identity()

    def forward(self, x):
        return self.last(self.head(torch.tanh(self.hidden(x))))


def rows(label, steps=25, seed=4):
    random = np.random.default_rng(seed)
    make = {"class": lambda: random.integers(0, 3, 6), "number": lambda: random.normal(size=(6, 3)),
            "probability": lambda: random.uniform(size=(6, 3))}[label]
    for _ in range(steps):
        yield torch.from_numpy(random.normal(size=(6, 4))), torch.from_numpy(make())


WEIGHT = torch.tensor([0.5, 1.5, 2.0], dtype=torch.float64)

LOSSES = {
    "cross entropy, sum": (nn.CrossEntropyLoss(reduction="sum"), None, "class"),
    "cross entropy, weights": (nn.CrossEntropyLoss(weight=WEIGHT), None, "class"),
    "cross entropy, a class ignored": (nn.CrossEntropyLoss(ignore_index=1), None, "class"),
    "cross entropy of softmax": (nn.CrossEntropyLoss(), nn.Softmax(dim=1), "class"),
    "cross entropy of log softmax": (nn.CrossEntropyLoss(), nn.LogSoftmax(dim=1), "class"),
    "likelihood": (nn.NLLLoss(), nn.LogSoftmax(dim=1), "class"),
    "likelihood, weights, sum": (nn.NLLLoss(weight=WEIGHT, reduction="sum"), nn.LogSoftmax(dim=1), "class"),
    "squares": (nn.MSELoss(), None, "number"),
    "squares, sum": (nn.MSELoss(reduction="sum"), None, "number"),
    "absolute": (nn.L1Loss(), None, "number"),
    "absolute, sum": (nn.L1Loss(reduction="sum"), None, "number"),
    "binary": (nn.BCEWithLogitsLoss(), None, "probability"),
    "binary, sum": (nn.BCEWithLogitsLoss(reduction="sum"), None, "probability"),
    "binary of sigmoid": (nn.BCEWithLogitsLoss(), nn.Sigmoid(), "probability"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_goes_on(name):
    loss, last, label = LOSSES[name]
    torch.manual_seed(4)
    model = Mlp(last).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    assert_goes_on(model, loss, optimizer, rows(label), begun=5, steps=20)


class Tied(nn.Module):
    """One table that is embedding and last layer at once, a frozen layer, and a buffer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.middle = nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.last = nn.Linear(4, 7, bias=False)
        self.last.weight = self.table.weight
        self.unused = nn.Linear(2, 2)
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 0.5, 1.5]))

    def forward(self, x):
        return self.last(torch.relu(self.middle(self.table(x) * self.scale)) + self.frozen(self.table(x)))


def test_tied_and_frozen_weights():
    torch.manual_seed(5)
    model = Tied().double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    random = np.random.default_rng(6)
    batches = [(torch.from_numpy(random.integers(0, 7, 9)), torch.from_numpy(random.integers(0, 7, 9)))
               for _ in range(25)]
    trainer = assert_goes_on(model, nn.CrossEntropyLoss(), optimizer, batches, begun=5, steps=20)
    assert set(trainer.model.parameters) == {"table.weight", "middle.weight", "middle.bias"}
    assert {"frozen.weight", "frozen.bias", "scale"} <= set(trainer.model.initializers)


def test_the_optimizer_s_parameters_are_trained_and_no_others():
    model = Mlp().double()
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    exported = onward.torch.export(model, nn.MSELoss(), optimizer, (torch.zeros(2, 4, dtype=torch.float64),))
    assert set(exported.parameters) == {"head.weight", "head.bias"}


def test_frozen_normalization_stays_as_it_is():
    """Layers in evaluation mode inside of a module that trains."""
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6, eps=EPS), nn.Dropout(0.5), nn.Linear(6, 3)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    before = list(rows("class", steps=6))
    for x, label in before:  # statistics that are not those of a new layer
        nn.CrossEntropyLoss()(model(x), label)
    model[1].eval(), model[2].eval()
    exported = onward.torch.export(model, nn.CrossEntropyLoss(), optimizer, (before[0][0],))
    trainer = onward.Trainer(exported)
    for x, label in before:
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), label)
        loss.backward()
        optimizer.step()
        result = trainer.step({"input": x.numpy(), "label": label.numpy()})["loss"]
        assert abs(float(result) - loss.item()) < 1e-9
    assert "1.running_mean" not in trainer.state()


def test_a_batch_of_one_will_do_as_example():
    model = Mlp().double()
    exported = onward.torch.export(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1),
                                   (torch.zeros(1, 4, dtype=torch.float64),))
    assert exported.inputs[0].shape == ("N", 4)


def test_modes_are_as_before():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, eps=EPS), nn.Dropout(0.5)).double().eval()
    model[2].train()
    onward.torch.export(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1),
                        (torch.zeros(2, 4, dtype=torch.float64),))
    assert [module.training for module in model.modules()] == [False, False, False, True]


def test_dropout_drops_in_training_alone():
    model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.25)).double()
    exported = onward.torch.export(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.0),
                                   (torch.zeros(2, 4, dtype=torch.float64),))
    trainer = onward.Trainer(exported, seed=1)
    x = np.random.default_rng(7).normal(size=(50, 4))
    outputs = model.eval()(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(trainer.infer({"input": x})["output"], outputs)
    # With a label of zeros the loss is the mean square: it grows by 1 / (1 - ratio) on average.
    losses = [float(trainer.step({"input": x, "label": np.zeros((50, 64))})["loss"]) for _ in range(20)]
    assert np.std(losses) > 0
    assert np.isclose(np.mean(losses), (outputs**2).mean() / 0.75, rtol=0.05)


def test_sizes_can_be_fixed():
    model = Mlp().double()
    export = lambda **options: onward.torch.export(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1),
                                                   (torch.zeros(2, 4, dtype=torch.float64),), **options)
    assert export().inputs[0].shape == ("N", 4)
    assert export(batch="rows").inputs[0].shape == ("rows", 4)
    assert export(batch=None, input_names=["features"]).inputs[0].shape == (2, 4)


def module(**replaced):
    model = Mlp().double()
    for name, child in replaced.items():
        setattr(model, name, child.double())
    return model


class Different(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(x) * (2 if self.training else 1)


class Calls(nn.Module):
    """A layer and a function of what it gives."""

    def __init__(self, function):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.function = function
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("places", torch.ones(4))

    def forward(self, x):
        return self.function(self, self.layer(x))


def without_gradient(m, x):
    with torch.no_grad():
        scale = x.mean()
    return x * scale


def counting(m, x):
    m.count.add_(1)
    return x * m.count


def calls(function):
    return lambda: Calls(function).double()


def hooked():
    model = module()
    model.head.weight.register_hook(lambda gradient: gradient * 2)
    return model


def mixed():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, eps=EPS), nn.BatchNorm1d(3, eps=EPS)).double()
    model[1].eval()
    return model


def stepped(optimizer, parameters):
    """An optimizer that knows some of its parameters longer than others."""
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return optimizer


def hooked_optimizer(model):
    optimizer = SGD(model)
    optimizer.register_step_post_hook(lambda *_: None)
    return optimizer


SGD = lambda model: torch.optim.SGD(model.parameters(), lr=0.1)
CROSS_ENTROPY = nn.CrossEntropyLoss()

REFUSED = {
    "maximize": (module, CROSS_ENTROPY, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, maximize=True), "maximize=True"),
    "other optimizer": (module, CROSS_ENTROPY, lambda m: torch.optim.ASGD(m.parameters()), "ASGD"),
    "groups": (module, CROSS_ENTROPY,
               lambda m: torch.optim.SGD([{"params": m.hidden.parameters()}, {"params": m.head.parameters(), "lr": 0.5}],
                                         lr=0.1), r"differ in lr \(0.1 and 0.5\)"),
    "foreign parameters": (module, CROSS_ENTROPY, lambda m: SGD(nn.Linear(2, 2)), "2 parameters that are none"),
    "state of some": (module, CROSS_ENTROPY,
                      lambda m: stepped(torch.optim.Adam(m.parameters()), list(m.head.parameters())),
                      "'head.weight' has optimizer state and 'hidden.weight' has none"),
    "no reduction": (module, nn.MSELoss(reduction="none"), SGD, "reduction='none'"),
    "positive weights": (module, nn.BCEWithLogitsLoss(pos_weight=torch.ones(3)), SGD, "3 numbers of pos_weight"),
    "other loss": (module, nn.SoftMarginLoss(), SGD, "SoftMarginLoss can't be exported"),
    "a function": (module, nn.functional.mse_loss, SGD, "mse_loss"),
    "hooks": (hooked, CROSS_ENTROPY, SGD, "'head.weight' has hooks"),
    "batch norm without momentum": (lambda: module(last=nn.BatchNorm1d(3, momentum=None)), CROSS_ENTROPY, SGD,
                                    "BatchNorm1d 'last' with momentum=None"),
    "batch norm without statistics": (lambda: module(last=nn.BatchNorm1d(3, track_running_stats=False)), CROSS_ENTROPY,
                                      SGD, "track_running_stats=False"),
    "modes of batch norm": (mixed, CROSS_ENTROPY, SGD, "BatchNorm1d '2' is in training mode and BatchNorm1d '1' is not"),
    "two computations": (lambda: Different().double(), CROSS_ENTROPY, SGD, "something else in training"),
    "one function": (lambda: module(last=nn.Hardshrink()), CROSS_ENTROPY, SGD, "hardshrink in Hardshrink 'last' can't be"),
    "functions": (calls(lambda m, x: x.sort(1)[0].lgamma()), CROSS_ENTROPY, SGD,
                  r"parts of the module can't be exported:\n  sort in forward\n  lgamma in forward$"),
    "detached": (calls(lambda m, x: x * x.detach()), CROSS_ENTROPY, SGD, "detach in forward can't be exported"),
    "without gradient": (calls(without_gradient), CROSS_ENTROPY, SGD, "torch.no_grad in forward can't be exported"),
    "random numbers": (calls(lambda m, x: x + torch.rand_like(x)), CROSS_ENTROPY, SGD, "rand_like in forward"),
    "dropout in evaluation": (calls(lambda m, x: nn.functional.dropout(x)), CROSS_ENTROPY, SGD, "in evaluation too"),
    "statistics in evaluation": (
        calls(lambda m, x: nn.functional.batch_norm(x, m.places, m.places, m.layer.bias, training=True)), CROSS_ENTROPY, SGD, "batch's statistics in evaluation too"),
    "a changed buffer": (calls(counting), CROSS_ENTROPY, SGD, "'count' is changed by the forward pass"),
    "an argument": (calls(lambda m, x: torch.add(x, x, alpha=2)), CROSS_ENTROPY, SGD, "add in forward with alpha=2"),
    "a limit to train": (calls(lambda m, x: torch.clamp(x, min=m.layer.bias)), CROSS_ENTROPY, SGD, "clamp in forward with min="),
    "another type": (calls(lambda m, x: x.softmax(1, dtype=torch.float32)), CROSS_ENTROPY, SGD,
                     "softmax in forward with dtype=torch.float32"),
    "parts of the batch": (calls(lambda m, x: torch.cat(x.chunk(2)[::-1])), CROSS_ENTROPY, SGD, "SplitToSequence|exporter|capture|size of the batch"),
    "decisions by data": (calls(lambda m, x: x if x.sum() > 0 else -x), CROSS_ENTROPY, SGD, "PyTorch can't capture"),
    "several results": (calls(lambda m, x: (x, x)), CROSS_ENTROPY, SGD, "gives 2 tensors"),
    "half precision": (lambda: Mlp().to(torch.bfloat16), CROSS_ENTROPY, SGD, "parameters of torch.bfloat16"),
    "hooks of the optimizer": (module, CROSS_ENTROPY, hooked_optimizer, "SGD has hooks"),
    "batch norm without weights": (lambda: module(last=nn.BatchNorm1d(3, affine=False)), CROSS_ENTROPY, SGD,
                                   "BatchNorm1d 'last' with affine=False"),
    "momenta of batch norm": (lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, momentum=1 / 3, eps=EPS),
                                                    nn.BatchNorm1d(3, eps=EPS)).double(), CROSS_ENTROPY, SGD,
                              "BatchNorm1d '1' with momentum=0.333"),
    "nothing to train": (lambda: module().requires_grad_(False), CROSS_ENTROPY, SGD, "nothing would be trained"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exact_is_refused_by_name(name):
    make, loss, optimizer, message = REFUSED[name]
    model = make()
    with pytest.raises(onward.Error, match=message):
        onward.torch.export(model, loss, optimizer(model), (torch.zeros(2, 4, dtype=torch.float64),))


@pytest.mark.parametrize("settings, message", [
    ({"padding_idx": 0}, "padding_idx=0"), ({"max_norm": 1.0}, "max_norm=1.0"), ({"sparse": True}, "sparse=True"),
    ({"scale_grad_by_freq": True}, "scale_grad_by_freq=True"),
])
def test_embeddings_with_rules_of_their_own_are_refused(settings, message):
    model = nn.Embedding(5, 3, **settings)
    with pytest.raises(onward.Error, match=message):
        onward.torch.export(model, nn.MSELoss(), SGD(model), (torch.zeros(4, dtype=torch.int64),))


def test_a_rounded_epsilon_is_told():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double()
    with pytest.warns(UserWarning, match="eps=1e-05 of BatchNorm1d '1' becomes 9.99999"):
        onward.torch.export(model, nn.MSELoss(), SGD(model), (torch.zeros(2, 4, dtype=torch.float64),))
