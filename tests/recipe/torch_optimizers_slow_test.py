"""In torch's formula, 50 steps of a CNN with BatchNorm equal those of torch.optim in float64."""

import pytest
import torch
import training_job as job

# Options of `prepare`, the optimizer of PyTorch, and how its state calls the slots.
ADAM = ["exp_avg", "exp_avg_sq"]
CASES = {
    "sgd": (["--optimizer", "sgd", "--lr", "0.05"], (torch.optim.SGD, {"lr": 0.05}), []),
    "sgd, weight decay": (
        ["--optimizer", "sgd", "--lr", "0.05", "--weight-decay", "0.01"],
        (torch.optim.SGD, {"lr": 0.05, "weight_decay": 0.01}), []),
    "momentum": (
        ["--optimizer", "momentum", "--lr", "0.03"],
        (torch.optim.SGD, {"lr": 0.03, "momentum": 0.9}), ["momentum_buffer"]),
    "momentum, dampening": (
        ["--optimizer", "momentum", "--lr", "0.03", "--dampening", "0.3", "--weight-decay", "0.01"],
        (torch.optim.SGD, {"lr": 0.03, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
        ["momentum_buffer"]),
    "nesterov": (
        ["--optimizer", "nesterov", "--lr", "0.03", "--momentum", "0.8"],
        (torch.optim.SGD, {"lr": 0.03, "momentum": 0.8, "nesterov": True}), ["momentum_buffer"]),
    "adam": (["--optimizer", "adam", "--lr", "0.003"], (torch.optim.Adam, {"lr": 0.003}), ADAM),
    "adam, other numbers": (
        ["--optimizer", "adam", "--lr", "0.003", "--beta1", "0.3", "--beta2", "0.98",
         "--epsilon", "1e-5", "--weight-decay", "0.02"],
        (torch.optim.Adam, {"lr": 0.003, "betas": (0.3, 0.98), "eps": 1e-5, "weight_decay": 0.02}),
        ADAM),
    "adamw": (["--optimizer", "adamw", "--lr", "0.003"], (torch.optim.AdamW, {"lr": 0.003}), ADAM),
    "adam, amsgrad": (
        ["--optimizer", "adam", "--lr", "0.003", "--beta2", "0.8", "--amsgrad", "1"],
        (torch.optim.Adam, {"lr": 0.003, "betas": (0.9, 0.8), "amsgrad": True}), [*ADAM, "max_exp_avg_sq"]),
    "adamw, amsgrad": (
        ["--optimizer", "adamw", "--lr", "0.003", "--beta2", "0.8", "--amsgrad", "1"],
        (torch.optim.AdamW, {"lr": 0.003, "betas": (0.9, 0.8), "amsgrad": True}), [*ADAM, "max_exp_avg_sq"]),
    "adamax": (["--optimizer", "adamax"], (torch.optim.Adamax, {}), ["exp_avg", "exp_inf"]),
    "adamax, other numbers": (
        ["--optimizer", "adamax", "--lr", "0.003", "--beta1", "0.3", "--beta2", "0.8", "--epsilon", "1e-3",
         "--weight-decay", "0.02"],
        (torch.optim.Adamax, {"lr": 0.003, "betas": (0.3, 0.8), "eps": 1e-3, "weight_decay": 0.02}), ["exp_avg", "exp_inf"]),
    "radam": (["--optimizer", "radam", "--lr", "0.003"], (torch.optim.RAdam, {"lr": 0.003}), ADAM),
    "radam, other numbers": (
        ["--optimizer", "radam", "--lr", "0.003", "--beta1", "0.3", "--beta2", "0.9", "--epsilon", "1e-5", "--weight-decay",
         "0.02"],
        (torch.optim.RAdam, {"lr": 0.003, "betas": (0.3, 0.9), "eps": 1e-5, "weight_decay": 0.02}), ADAM),
    "radam, decoupled": (
        ["--optimizer", "radam", "--lr", "0.003", "--beta2", "0.5", "--weight-decay", "0.02", "--decoupled-weight-decay", "1"],
        (torch.optim.RAdam, {"lr": 0.003, "betas": (0.9, 0.5), "weight_decay": 0.02, "decoupled_weight_decay": True}), ADAM),
    "adadelta": (["--optimizer", "adadelta"], (torch.optim.Adadelta, {}), ["square_avg", "acc_delta"]),
    "adadelta, other numbers": (
        ["--optimizer", "adadelta", "--lr", "0.5", "--rho", "0.8", "--epsilon", "1e-5", "--weight-decay", "0.02"],
        (torch.optim.Adadelta, {"lr": 0.5, "rho": 0.8, "eps": 1e-5, "weight_decay": 0.02}), ["square_avg", "acc_delta"]),
    "rprop": (["--optimizer", "rprop", "--lr", "0.003"], (torch.optim.Rprop, {"lr": 0.003}), ["prev", "step_size"]),
    "rprop, other numbers": (
        ["--optimizer", "rprop", "--lr", "0.003", "--eta-minus", "0.4", "--eta-plus", "1.3", "--min-step", "0.001",
         "--max-step", "0.005"],
        (torch.optim.Rprop, {"lr": 0.003, "etas": (0.4, 1.3), "step_sizes": (0.001, 0.005)}), ["prev", "step_size"]),
    "adagrad": (
        ["--optimizer", "adagrad", "--lr", "0.02"], (torch.optim.Adagrad, {"lr": 0.02}), ["sum"]),
    "adagrad, other numbers": (
        ["--optimizer", "adagrad", "--lr", "0.02", "--lr-decay", "0.1", "--weight-decay", "0.01",
         "--initial-accumulator", "0.1"],
        (torch.optim.Adagrad, {"lr": 0.02, "lr_decay": 0.1, "weight_decay": 0.01,
                               "initial_accumulator_value": 0.1}), ["sum"]),
    "rmsprop": (
        ["--optimizer", "rmsprop", "--lr", "0.003"], (torch.optim.RMSprop, {"lr": 0.003}), ["square_avg"]),
    "rmsprop, other numbers": (
        ["--optimizer", "rmsprop", "--lr", "0.003", "--rho", "0.9", "--epsilon", "1e-5", "--weight-decay", "0.01",
         "--momentum", "0.8", "--centered", "1"],
        (torch.optim.RMSprop, {"lr": 0.003, "alpha": 0.9, "eps": 1e-5, "weight_decay": 0.01, "momentum": 0.8,
                               "centered": True}), ["square_avg", "momentum_buffer", "grad_avg"]),
    "rmsprop, centered on new gradients": (
        ["--optimizer", "rmsprop", "--lr", "0.003", "--rho", "0.3", "--centered", "1"],
        (torch.optim.RMSprop, {"lr": 0.003, "alpha": 0.3, "centered": True}), ["square_avg", "grad_avg"]),
}


def torch_model(weights):
    class Cnn(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 4, 3, bias=False)
            self.bn = torch.nn.BatchNorm2d(4, eps=job.EPSILON)
            self.fc = torch.nn.Linear(36, 5)

        def forward(self, x):
            x = torch.nn.functional.max_pool2d(torch.relu(self.bn(self.conv(x))), 2)
            return self.fc(x.flatten(1))

    model = Cnn().double()
    model.load_state_dict({name: torch.tensor(array) for name, array in weights.items()}, strict=False)
    return model.train()


def train_in_torch(weights, data, make_optimizer):
    torch.manual_seed(0)
    model = torch_model(weights)
    kind, numbers = make_optimizer
    optimizer = kind(model.parameters(), foreach=False, **numbers)
    losses = []
    for batch in data:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.tensor(batch["x"])),
                                                 torch.tensor(batch["label"]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, optimizer, losses


@pytest.mark.parametrize("name", CASES)
def test_equals_torch(name, tmp_path):
    options, make_optimizer, slots = CASES[name]
    weights, data = job.first_weights(), job.batches()
    losses, ours = job.train(tmp_path, weights, data, [
        *options, "--formula", "torch", "--bn-variance", "unbiased", "--bn-momentum", "0.9"])
    model, optimizer, expected = train_in_torch(weights, data, make_optimizer)
    assert len(losses) == job.STEPS
    assert job.difference(losses, expected) <= job.TOLERANCE
    for key, value in model.state_dict().items():
        if key != "bn.num_batches_tracked":
            assert job.difference(ours[key], value.numpy()) <= job.TOLERANCE, key
            assert job.difference(weights[key], value.numpy()) > 1e-4, f"{key} was never changed"
    for key, parameter in model.named_parameters():
        state = optimizer.state[parameter]
        for slot in slots:
            assert job.difference(ours[f"{key}.{slot}"], state[slot].numpy()) <= job.TOLERANCE, slot
        if "step" in state:
            assert ours["step"] == state["step"].item()
