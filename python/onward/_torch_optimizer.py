"""PyTorch's optimizers and their state as onward.prepare takes them."""

import gc

import numpy
import torch

import onward
from onward._optimizers import Optimizers


def _same_in_all_groups(optimizer):
    """The settings of the parameter groups, which must agree."""
    first, *others = [{key: value for key, value in group.items() if key in optimizer.defaults}
                      for group in optimizer.param_groups]
    for group in others:
        for key, value in group.items():
            if value != first.get(key):
                raise onward.Error(f"the optimizer's parameter groups differ in {key} ({first.get(key)} and {value}): "
                                   "one training info has one setting for all, so make them alike")
    return {key: value.item() if isinstance(value, torch.Tensor) else value for key, value in first.items()}


OPTIMIZERS = Optimizers("torch", torch.optim)
# How a step is computed, not what.
MEANS = ("foreach", "fused", "capturable", "differentiable")


def _lowers_on_plateaus(optimizer):
    """Whether there is a scheduler that leaves no trace in the optimizer it drives."""
    holders = gc.get_referrers(optimizer)
    # An object's attributes may lie in a dictionary of their own.
    owners = [owner for holder in holders if type(holder) is dict for owner in gc.get_referrers(holder)]
    return any(issubclass(type(each), torch.optim.lr_scheduler.ReduceLROnPlateau) and each.optimizer is optimizer
               for each in holders + owners)


def optimizer_settings(optimizer):
    """What onward.prepare is told of the optimizer."""
    kind = type(optimizer)
    if kind not in OPTIMIZERS.classes:
        names = ", ".join(OPTIMIZERS.classes.values())
        raise onward.Error(f"the optimizer {kind.__name__} can't be exported: it may be {names}")
    row, settings, rest = OPTIMIZERS.find(kind, _same_in_all_groups(optimizer), MEANS)
    for name, value in rest.items():
        raise onward.Error(f"{kind.__name__} with {name}={value} can't be exported: make the optimizer without it")
    if _lowers_on_plateaus(optimizer):
        raise onward.Error(f"ReduceLROnPlateau drives the optimizer {kind.__name__}, and can't be exported: delete the scheduler "
                           "to go on with the rate as it is now, and set it before a step by "
                           "trainer.set_state({\"learning_rate\": rate})")
    if any("initial_lr" in group for group in optimizer.param_groups):
        raise onward.Error(f"a learning rate scheduler drives the optimizer {kind.__name__}, and can't be exported: delete "
                           "'initial_lr' from optimizer.param_groups to go on with the rate as it is now, and set it "
                           "before a step by trainer.set_state({\"learning_rate\": rate})")
    if "step" in vars(optimizer) and not hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        raise onward.Error(f"the optimizer {kind.__name__} has a step of its own, which can't be exported")
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        raise onward.Error(f"the optimizer {kind.__name__} has hooks, which an ONNX model can't call")
    return {"optimizer": row["name"], **settings}


def trained_parameters(model, optimizer):
    """The parameters that steps change, by name: the optimizer's that require a gradient."""
    given = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    named = {id(parameter): name for name, parameter in model.named_parameters()}
    if given - set(named):
        raise onward.Error(f"the optimizer has {len(given - set(named))} parameters that are none of the module's: make it "
                           "from module.parameters() of the module that is exported")
    return {name: parameter for name, parameter in model.named_parameters()
            if id(parameter) in given and parameter.requires_grad}


def _array(tensor):
    return tensor.detach().cpu().contiguous().numpy()


def optimizer_state(optimizer, trained, prepared):
    """The optimizer's slots and step count, by the names that the prepared model gives them."""
    states = {name: {key: value for key, value in optimizer.state.get(parameter, {}).items() if value is not None}
              for name, parameter in trained.items()}
    begun = [name for name, state in states.items() if state]
    if begun and len(begun) != len(states):
        rest = next(name for name in states if name not in begun)
        raise onward.Error(f"parameter '{begun[0]}' has optimizer state and '{rest}' has none: steps count for all")
    if not begun:
        return {}
    training = prepared.training[0]
    tensors = {}
    for name, state in states.items():
        for key, value in state.items():
            if key == "step":
                continue
            if key not in training.slots[name]:
                raise onward.Error(f"the optimizer's state '{name}.{key}' has no place in the exported training")
            tensors[training.slots[name][key]] = _array(value)
    if "step" in training.names:
        step = training.names["step"]
        # SGD counts none: with dampening only the first step differs, and that one is done.
        counts = {int(state.get("step", 1)) for state in states.values()}
        if len(counts) != 1:
            raise onward.Error(f"parameters have done different numbers of steps: {sorted(counts)}")
        tensors[step] = numpy.array(counts.pop(), prepared.state[step].dtype).reshape(prepared.state[step].shape)
    return tensors
