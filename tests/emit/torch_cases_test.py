"""Every operator case, said in PyTorch, gives what Onward computes."""

import torch

from emitted import NOT_HELD, module_of, refusals, taken_back, wrong_values

# What PyTorch's source refuses, and why.
EVERY_VARIANT = ("first input held", "inputs", "inputs of symbolic shapes", "other inputs held",
                 "other inputs held, symbolic shapes")
REFUSED = {
    ("BatchNormalization under a mean", "inputs of symbolic shapes"):
        "GlobalAveragePool 'y': the rank of its input 'r' is not known; declare the input's shape",
    ("Conv same lower", "inputs of symbolic shapes"): "Conv 'y': the kernel's shape is not known: 'w'",
    ("Conv same upper", "inputs of symbolic shapes"): "Conv 'y': the kernel's shape is not known: 'w'",
    ("Conv same, strides beyond the window", "inputs of symbolic shapes"):
        "Conv 'y': the kernel's shape is not known: 'w'",
    **{(case, "inputs of symbolic shapes"): "ConvTranspose 'y': the kernel's shape is not known: 'w'"
       for case in ("ConvTranspose same lower, a stride beyond the kernel", "ConvTranspose same upper")},
    **{("MaxUnpool", variant): "MaxPool 'p': its result 1 ('i') can't be had"
       for variant in ("inputs", "inputs of symbolic shapes", "its only input held")},
    ("ReduceSum of nothing", "inputs of symbolic shapes"):
        "ReduceSum 'y': whether it has axes is only known when it runs",
    **{(case, variant): "QuantizeLinear 'q': elements of type i4 have no counterpart"
       for case in ("QuantizeLinear to 4 bits",)
       for variant in EVERY_VARIANT},
    **{(case, variant): "QuantizeLinear 'q': elements of type f8e4m3fn have no counterpart"
       for case in ("QuantizeLinear to 8-bit floats",)
       for variant in EVERY_VARIANT},
    **{(case, variant): "QuantizeLinear 'q': elements of type f8e5m2 have no counterpart"
       for case in ("QuantizeLinear to 8-bit floats that do not saturate",)
       for variant in EVERY_VARIANT},
    ("DequantizeLinear without a zero point", "inputs of symbolic shapes"):
        "node 'y' (DequantizeLinear): axis 1 is out of range for rank 1",
    ("ConvInteger same upper", "inputs of symbolic shapes"):
        "Conv 'p_Conv': the kernel's shape is not known: 'p_Cast_2'",
    ("QLinearConv same lower", "inputs of symbolic shapes"):
        "Conv 'q_Conv': the kernel's shape is not known: 'q_Sub_3'",
    **{(case, "inputs of symbolic shapes"): "declare the shapes of the model's inputs, with names for sizes that are open"
       for case in ("CausalConvWithState", "CausalConvWithState of a past", "CausalConvWithState of one tap")},
}

# nn.Embedding knows no indices that count from the end.
RAISED = {("Gather", "first input held"): "index out of range in self"}


def results_of(model, feeds):
    with torch.no_grad():
        results = model(*(torch.from_numpy(feed) for feed in feeds))
    return [result.numpy() for result in (results if isinstance(results, tuple) else [results])]


def run(folder, feeds):
    return results_of(module_of(folder).load(), feeds)


def run_with_others(folder, feeds, others, back):
    module = module_of(folder)
    model = module.load()
    for key, tensor in model.state_dict().items():
        if key in others:
            tensor.copy_(torch.from_numpy(others[key](tensor.numpy())))
    module.save(model, back)
    return results_of(model, feeds)


def test_values(torch_cases):
    assert len(torch_cases) > 400
    assert wrong_values(torch_cases, run, RAISED) == []


def test_refusals(torch_cases):
    assert refusals(torch_cases) == REFUSED


def test_weights_come_back(torch_cases):
    wrong, not_held = taken_back(torch_cases, run_with_others, RAISED)
    assert wrong == []
    assert not_held == NOT_HELD | {("Mod of a negative divisor", "b")}
