"""What export is given by mistake is refused with what to pass instead, and what is meant plainly is taken."""

import numpy as np
import pytest
import torch
import torch_training  # noqa: F401  (makes exports quicker)
from torch import nn

import onward
import onward.torch

X = torch.zeros(2, 4, dtype=torch.float64)
LOSS = nn.MSELoss()


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 5 * gradient


held = Twice.apply


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.function = function

    def forward(self, x):
        return self.function(self.head(x))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x, scale):
        return self.head(x) * scale


def linear():
    return nn.Linear(4, 3).double()


def sgd(model, **settings):
    return torch.optim.SGD(model.parameters(), **{"lr": 0.1} | settings)


def scheduled(model):
    optimizer = sgd(model)
    torch.optim.lr_scheduler.StepLR(optimizer, 3)
    return optimizer


def with_step_of_its_own(model):
    optimizer = sgd(model)
    step = optimizer.step
    optimizer.step = lambda closure=None: step(closure)
    return optimizer


def lowered_on_plateaus(model):
    optimizer = sgd(model)
    model.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    return optimizer


def changed(change):
    loss = nn.MSELoss()
    change(loss)
    return loss


def hooked(register):
    model = linear()
    register(model)
    return model


def on_tensor(x):
    x.register_hook(lambda gradient: 2 * gradient)
    return x


def given(model=None, loss=LOSS, optimizer=sgd, args=X):
    """The arguments of an export of which one is replaced."""
    model = linear() if model is None else model
    return model, loss, optimizer(model) if callable(optimizer) and isinstance(model, nn.Module) else optimizer, args


calls = lambda function: given(Calls(function).double())

REFUSED = {
    "a class of modules": (lambda: given(nn.Linear), "the model is the class Linear: pass an object of it"),
    "a path": (lambda: ("model.pt",), "the model is of type str, not a torch.nn.Module: load the module"),
    "a state": (lambda: given({}), "the model is of type dict"),
    "TorchScript": (lambda: given(torch.jit.trace(linear(), X)), "TorchScript module: pass the nn.Module"),
    "on no device": (lambda: given(nn.Linear(4, 3, device="meta")), "'weight' is on the meta device"),
    "wrapped inside": (lambda: given(nn.Sequential(nn.DataParallel(linear()))), "'0' inside of the module is wrapped in DataParallel"),
    "a class of losses": (lambda: given(loss=nn.MSELoss), r"the loss is the class MSELoss: pass an object of it, MSELoss\(\)"),
    "a function": (lambda: given(loss=nn.functional.cross_entropy), r"pass torch.nn.CrossEntropyLoss\(\)"),
    "another function": (lambda: given(loss=lambda y, label: y.sum()), "it may be an object of BCELoss, BCEWithLogitsLoss, CrossEntropyLoss"),
    "no loss": (lambda: given(loss=None), "the loss None can't be exported: it may be"),
    "swapped": (lambda: (lambda m: (m, sgd(m), LOSS, X))(linear()), "the loss is the optimizer SGD: the order is"),
    "a loss for an optimizer": (lambda: (linear(), LOSS, LOSS, X), "the optimizer is the loss MSELoss"),
    "a class of optimizers": (lambda: (linear(), LOSS, torch.optim.SGD, X), r"pass an object of it, SGD\(module.parameters\(\)\)"),
    "no optimizer": (lambda: (linear(), LOSS, None, X), "the optimizer is of type NoneType"),
    "a scheduler": (lambda: given(optimizer=lambda m: torch.optim.lr_scheduler.StepLR(sgd(m), 3)), "the scheduler StepLR: pass the optimizer"),
    "a driven optimizer": (lambda: given(optimizer=scheduled), "a learning rate scheduler drives the optimizer SGD"),
    "an optimizer that waits for plateaus":
        (lambda: given(optimizer=lowered_on_plateaus), "ReduceLROnPlateau drives the optimizer SGD"),
    "a step of its own": (lambda: given(optimizer=with_step_of_its_own), "has a step of its own"),
    "another module's optimizer": (lambda: given(optimizer=lambda m: sgd(linear())), "none of the module's: make it from"),
    "maximize": (lambda: given(optimizer=lambda m: sgd(m, maximize=True)), "SGD with maximize=True"),
    "groups": (lambda: given(optimizer=lambda m: torch.optim.SGD([{"params": [m.weight], "momentum": 0.5}, {"params": [m.bias]}], lr=1)),
               r"groups differ in momentum \(0.5 and 0\)"),
    "no inputs": (lambda: given(args=None), r"args is missing: pass a tuple of example inputs, in the order of forward's arguments \(input\)"),
    "an empty tuple": (lambda: given(args=()), r"args holds 0 example inputs, but forward takes \(input\)"),
    "too few inputs": (lambda: given(Two().double()), r"args holds 1 example input, but forward takes \(x, scale\)"),
    "a dict": (lambda: given(args={"input": X}), "args is of type dict: pass a tuple"),
    "an array": (lambda: given(args=(X.numpy(),)), r"args\[0\] is of type ndarray.*torch.from_numpy"),
    "a number": (lambda: given(Two().double(), args=(X, 2)), r"args\[1\] is of type int"),
    "a list of tensors": (lambda: given(args=([X],)), r"args\[0\] is of type list.*one by one"),
    "another type": (lambda: given(args=X.float()), "input 1 'weight' is f64, but input 0 'input' is f32"),
    "another shape": (lambda: given(args=X[:, :3]), "PyTorch can't capture the module's forward pass: .*3"),
    "several results": (lambda: calls(lambda x: {"a": x, "b": x}), "gives 2 tensors, but a loss takes one: wrap it"),
    "no tensor": (lambda: calls(lambda x: 3), "PyTorch's exporter can't write the module as ONNX"),
    "a backward pass of its own": (lambda: calls(Twice.apply), "the forward pass calls Twice, a torch.autograd.Function"),
    "the same, held": (lambda: calls(lambda x: held(x)), "the forward pass calls Twice, a torch.autograd.Function"),
    "a hook in forward": (lambda: calls(on_tensor), "registers a hook on a tensor"),
    "a hook of a module": (lambda: given(hooked(lambda m: m.register_full_backward_hook(lambda *_: None))), "has backward hooks"),
    "an early hook": (lambda: given(hooked(lambda m: m.register_full_backward_pre_hook(lambda *_: None))), "has backward hooks"),
    "a hook of the loss": (lambda: given(loss=changed(lambda l: l.register_forward_hook(lambda *_: None))), "MSELoss has forward hooks"),
    "an early hook of the loss":
        (lambda: given(loss=changed(lambda l: l.register_forward_pre_hook(lambda *_: None))), "MSELoss has forward hooks"),
    "a loss with a forward of its own":
        (lambda: given(loss=changed(lambda l: setattr(l, "forward", nn.L1Loss().forward))), "MSELoss has a forward of its own"),
    "a hook of a parameter": (lambda: given(hooked(lambda m: m.weight.register_hook(lambda g: g))), "parameter 'weight' has hooks"),
    "a late hook": (lambda: given(hooked(lambda m: m.bias.register_post_accumulate_grad_hook(lambda p: None))), "parameter 'bias' has hooks"),
    "weight_norm": (lambda: given(nn.utils.parametrizations.weight_norm(linear())), "weight_norm"),
    "spectral_norm": (lambda: given(nn.utils.parametrizations.spectral_norm(linear())), "can't be exported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_to_do(name):
    arguments, message = REFUSED[name]
    with pytest.raises(onward.Error, match=message):
        onward.torch.export(*arguments())


def in_groups(model):
    return torch.optim.Adam([{"params": [model.weight], "name": "first"}, {"params": [model.bias], "name": "second"}], lr=0.1)


def once_scheduled(model):
    optimizer = scheduled(model)
    for group in optimizer.param_groups:
        del group["initial_lr"]
    return optimizer


TAKEN = {
    "a tensor": lambda: given(),
    "a list": lambda: given(args=[X]),
    "torch.compile": lambda: (lambda m: (torch.compile(m), LOSS, sgd(m), X))(linear()),
    "compiled in place": lambda: (lambda m: (m, m.compile(), (m, LOSS, sgd(m), X))[2])(linear()),
    "DataParallel": lambda: (lambda m: (m, LOSS, sgd(m), X))(nn.DataParallel(linear())),
    "evaluation mode": lambda: given(linear().eval()),
    "groups alike": lambda: given(optimizer=in_groups),
    "named parameters": lambda: given(optimizer=lambda m: torch.optim.SGD(m.named_parameters(), lr=0.1)),
    "once scheduled": lambda: given(optimizer=once_scheduled),
    "foreach": lambda: given(optimizer=lambda m: sgd(m, foreach=True, momentum=0.5)),
    "fused": lambda: given(optimizer=lambda m: torch.optim.AdamW(m.parameters(), fused=True)),
    "a rate in a tensor": lambda: given(optimizer=lambda m: torch.optim.Adam(m.parameters(), lr=torch.tensor(0.1, dtype=torch.float64))),
    "decoupled decay": lambda: given(optimizer=lambda m: torch.optim.Adam(m.parameters(), weight_decay=0.1, decoupled_weight_decay=True)),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_meant_is_taken(name):
    torch.manual_seed(1)
    model, loss, optimizer, args = TAKEN[name]()
    trainer = onward.Trainer(onward.torch.export(model, loss, optimizer, args))
    inner = model.module if isinstance(model, nn.DataParallel) else model
    random = np.random.default_rng(2)
    for _ in range(3):
        x, label = random.normal(size=(5, 4)), random.normal(size=(5, 3))
        value = loss(nn.functional.linear(torch.from_numpy(x), inner.weight, inner.bias), torch.from_numpy(label))
        optimizer.zero_grad()
        value.backward()
        with torch.no_grad():
            optimizer.step()
        assert np.allclose(trainer.step({"input": x, "label": label})["loss"], value.item(), rtol=1e-12)
    assert np.allclose(trainer.state()["weight"], inner.weight.detach(), rtol=1e-12)
