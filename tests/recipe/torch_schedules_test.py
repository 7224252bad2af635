"""Schedules, clipping and groups of parameters: 20 steps in float64 change the weights as in PyTorch."""

import loss_job as job
import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler as schedules

ADAMW = ["--optimizer", "adamw", "--weight-decay", "0.1"]


def warm(then):
    """Four steps of warm-up from 0.25, then another schedule."""
    def schedule(optimizer):
        first = schedules.LinearLR(optimizer, 0.25, total_iters=4)
        return schedules.SequentialLR(optimizer, [first, then(optimizer)], [4])
    return schedule


WARM = ["--warmup-steps", "4", "--warmup-start", "0.25"]
SCHEDULES = {
    "step": (["--schedule", "step", "--schedule-every", "3", "--schedule-gamma", "0.5"],
             lambda o: schedules.StepLR(o, 3, 0.5)),
    "exponential": (["--schedule", "exponential", "--schedule-gamma", "0.9"], lambda o: schedules.ExponentialLR(o, 0.9)),
    "linear": (["--schedule", "linear", "--schedule-steps", "15", "--schedule-end", "0.2"],
               lambda o: schedules.LinearLR(o, 1.0, 0.2, total_iters=15)),
    "cosine": (["--schedule", "cosine", "--schedule-steps", "20"], lambda o: schedules.CosineAnnealingLR(o, 20)),
    "cosine to an end": (["--schedule", "cosine", "--schedule-steps", "20", "--schedule-end", "0.1"],
                         lambda o: schedules.CosineAnnealingLR(o, 20, eta_min=0.1 * o.param_groups[0]["lr"])),
    "one cycle": (["--schedule", "one_cycle", "--schedule-steps", "20"],
                  lambda o: schedules.OneCycleLR(o, o.param_groups[0]["lr"], total_steps=20, cycle_momentum=False)),
    "one cycle of other numbers": (
        ["--schedule", "one_cycle", "--schedule-steps", "25", "--schedule-peak", "0.45", "--schedule-start", "0.1",
         "--schedule-end", "0.001"],
        lambda o: schedules.OneCycleLR(o, o.param_groups[0]["lr"], total_steps=25, pct_start=0.45, div_factor=10,
                                       final_div_factor=100, cycle_momentum=False)),
    "warm-up": (WARM, lambda o: schedules.LinearLR(o, 0.25, total_iters=4)),
    "warm-up, cosine": ([*WARM, "--schedule", "cosine", "--schedule-steps", "16"],
                        warm(lambda o: schedules.CosineAnnealingLR(o, 16))),
    "warm-up, step": ([*WARM, "--schedule", "step", "--schedule-every", "5"], warm(lambda o: schedules.StepLR(o, 5))),
}
OPTIMIZERS = {"sgd": ([], torch.optim.SGD, {}), "adamw": (ADAMW, torch.optim.AdamW, {"weight_decay": 0.1})}


def train_in_torch(first, data, groups, kind, settings, schedule=None, clip=None, averages=None):
    parameters = {key: torch.tensor(array, requires_grad=True) for key, array in first.items()}
    optimizer = kind(groups(parameters), lr=0.1, foreach=False, **settings)
    scheduler = schedule(optimizer) if schedule else None
    for batch in data:
        optimizer.zero_grad()
        scores = torch.tensor(batch["x"]) @ parameters["w"] + parameters["b"]
        torch.nn.functional.mse_loss(scores, torch.tensor(batch["label"])).backward()
        if clip:
            clip(parameters.values())
        optimizer.step()
        if scheduler:
            scheduler.step()
        if averages is not None:
            averages.append({key: each.detach().clone() for key, each in parameters.items()})
    return {key: each.detach().numpy() for key, each in parameters.items()}


def check(folder, options, groups, kind, settings, **more):
    first, data = job.first_weights(), job.batches("numbers")
    _, ours = job.train(folder, first, data, ["--loss", "mse", *options])
    job.assert_same_change(first, ours, train_in_torch(first, data, groups, kind, settings, **more))
    return ours


def all_of(parameters):
    return list(parameters.values())


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, optimizer, tmp_path):
    options, schedule = SCHEDULES[name]
    more, kind, settings = OPTIMIZERS[optimizer]
    ours = check(tmp_path, [*options, *more], all_of, kind, settings, schedule=schedule)
    assert ours["learning_rate"] == 0.1  # what the schedule's factor is of
    assert ours["step"] == job.STEPS


CLIPS = {
    "norm": (["--clip-norm", "0.5"], lambda p: torch.nn.utils.clip_grad_norm_(p, 0.5)),
    "norm that is not reached": (["--clip-norm", "50"], lambda p: torch.nn.utils.clip_grad_norm_(p, 50)),
    "value": (["--clip-value", "0.1"], lambda p: torch.nn.utils.clip_grad_value_(p, 0.1)),
}


@pytest.mark.parametrize("name", CLIPS)
def test_clipping(name, tmp_path):
    options, clip = CLIPS[name]
    check(tmp_path, [*options, "--optimizer", "momentum", "--weight-decay", "0.1"], all_of, torch.optim.SGD,
          {"momentum": 0.9, "weight_decay": 0.1}, clip=clip)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_moving_averages(optimizer, tmp_path):
    options, kind, settings = OPTIMIZERS[optimizer]
    steps = []
    ours = check(tmp_path, ["--ema", "0.9", *options], all_of, kind, settings, averages=steps)
    average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    expected = {key: each.clone() for key, each in steps[0].items()}
    for step in steps[1:]:
        average(list(expected.values()), [step[key] for key in expected], None)
    job.assert_same_change(job.first_weights(), {key: ours[f"{key}.ema"] for key in expected},
                           {key: each.numpy() for key, each in expected.items()})


GROUPS = {
    "rates": (["--group", "b:lr=0.02", *ADAMW],
              lambda p: [{"params": [p["w"]]}, {"params": [p["b"]], "lr": 0.02}]),
    "all settings": (["--group", "?:lr=0.02,beta1=0.5,epsilon=1e-3,weight_decay=0.01", *ADAMW],
                     lambda p: [{"params": all_of(p), "lr": 0.02, "betas": (0.5, 0.999), "eps": 1e-3, "weight_decay": 0.01}]),
    "the first that matches": (["--group", "b:beta2=0.5", "--group", "*:weight_decay=0.5", *ADAMW],
                               lambda p: [{"params": [p["b"]], "betas": (0.9, 0.5)}, {"params": [p["w"]], "weight_decay": 0.5}]),
    "no decay of biases": (["--no-bias-decay", *ADAMW],
                           lambda p: [{"params": [p["w"]]}, {"params": [p["b"]], "weight_decay": 0}]),
    "decay where a group says so": (["--no-bias-decay", "--group", "w:weight_decay=0.5", *ADAMW],
                                    lambda p: [{"params": [p["w"]], "weight_decay": 0.5},
                                               {"params": [p["b"]], "weight_decay": 0}]),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name, tmp_path):
    options, groups = GROUPS[name]
    check(tmp_path, options, groups, torch.optim.AdamW, {"weight_decay": 0.1})


def test_groups_with_a_schedule_and_clipping(tmp_path):
    options, schedule = SCHEDULES["warm-up, cosine"]
    ours = check(tmp_path, [*options, *ADAMW, "--group", "b:lr=0.02", "--clip-norm", "0.5"],
                 lambda p: [{"params": [p["w"]]}, {"params": [p["b"]], "lr": 0.02}], torch.optim.AdamW,
                 {"weight_decay": 0.1}, schedule=schedule, clip=lambda p: torch.nn.utils.clip_grad_norm_(p, 0.5))
    assert np.isclose(ours["learning_rate.1"], 0.02)
