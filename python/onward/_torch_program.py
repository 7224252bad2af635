"""What a captured PyTorch program may hold, so that its graph trains exactly as the module does."""

import torch

import onward
from onward._activations import ACTIVATIONS
from onward._importing import is_float32, refuse, warn_if_rounded

aten = torch.ops.aten

class _Numbers:
    """What is no tensor."""

    def __contains__(self, value):
        return not isinstance(value, torch.fx.Node)


NUMBER = _Numbers()
# Every function of torch.ops.aten that a module may call, in place or not, with what some arguments must be:
# the exporter to ONNX drops them, or no gradient of ours follows them.
FUNCTIONS: dict[str, dict] = {
    **dict.fromkeys("""
        _assert_tensor_metadata alias amax amin arange argmax argmin batch_norm bmm cat ceil chunk clone contiguous
        conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cumsum dropout einsum eq expand
        expand_as flatten flip floor full full_like gather ge gt hardtanh index index_select isinf isnan layer_norm le
        lift_fresh_copy linear logical_and logical_not logical_or logical_xor logsumexp lt matmul max_pool1d max_pool2d
        max_pool3d maximum minimum mm mul narrow ne new_zeros numpy_T ones_like permute pow prod relu6 reshape rms_norm
        rsqrt select sign silu slice split split_with_sizes squeeze stack sum sym_size t tile to transpose tril triu
        unbind unflatten unsqueeze where zeros zeros_like
    """.split(), {}),
    # Between layers they would drop.
    **dict.fromkeys(("gru", "lstm", "rnn_relu", "rnn_tanh"), {"dropout": (0.0,)}),
    **{each.torch: {} for each in ACTIVATIONS if each.torch},
    "elu": {"scale": (1,), "input_scale": (1,)},
    "add": {"alpha": (1,)}, "sub": {"alpha": (1,)}, "rsub": {"alpha": (1,)},
    "addmm": {"alpha": (1,), "beta": (1,)},
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), {"divisor_override": (None,)}),
    "adaptive_avg_pool1d": {"output_size": ([1],)},
    "adaptive_avg_pool2d": {"output_size": ([1, 1],)},
    "adaptive_avg_pool3d": {"output_size": ([1, 1, 1],)},
    "embedding": {"padding_idx": (-1,), "scale_grad_by_freq": (False,), "sparse": (False,)},
    "clamp": {"min": NUMBER, "max": NUMBER}, "clamp_min": {"min": NUMBER}, "clamp_max": {"max": NUMBER},
    "div": {"rounding_mode": (None,)},
    "pad": {"mode": ("constant", "reflect", "circular")},
    **dict.fromkeys(("log_softmax", "mean", "softmax"), {"dtype": (None,)}),
    "round": {"decimals": (0,)},
    "view": {"dtype": ()},
}


def capture(model, args, dynamic_shapes):
    return torch.export.export(model, args, dynamic_shapes=dynamic_shapes, strict=False)


def _arguments(node):
    """The arguments of a call by name, defaults included."""
    given = {}
    for i, argument in enumerate(node.target._schema.arguments):
        value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
        given[argument.name] = list(value) if isinstance(value, (list, tuple)) else value
    return given


def _name(node):
    return node.target._schema.name.split("::")[-1].removesuffix("_")


def _place(node):
    """The module that calls a function, for messages."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    kind = kind if isinstance(kind, str) else kind.__name__
    return f"{kind.split('.')[-1]} '{path}'" if path else "forward"


def _calls(program):
    return [node for node in program.graph.nodes if node.op == "call_function"]


def _aten_calls(program, name):
    return [node for node in _calls(program) if isinstance(node.target, torch._ops.OpOverload) and _name(node) == name]


def _is_constant(node):
    return node.op == "get_attr" or (node.op == "call_function" and "lift_fresh" in str(node.target))


def _problem(node, counts):
    """What can't be exported of one call, or None."""
    place = _place(node)
    if not isinstance(node.target, torch._ops.OpOverload):
        if "set_grad_enabled" in str(node.target):
            return f"torch.no_grad in {place}"
        return None if node.target.__module__ == "_operator" else f"{node.target} in {place}"
    name = _name(node)
    if name == "detach" and _is_constant(node.args[0]):
        return None
    if name == "add" and str(node.args[0]) in counts:
        return None
    if name not in FUNCTIONS or node.target.namespace != "aten":
        return f"{name} in {place}"
    arguments = _arguments(node)
    for argument, allowed in FUNCTIONS[name].items():
        if argument in arguments and arguments[argument] not in allowed:
            return f"{name} in {place} with {argument}={arguments[argument]}"
    if node.target._overloadname == "data":
        return f"{name} of a packed sequence in {place}"
    if name == "lstm" and len(arguments["params"]) % 5 == 0 and arguments["has_biases"]:
        return f"{place} with proj_size"
    if name == "batch_norm" and arguments["weight"] is None:
        return f"{place} with affine=False"
    if name == "batch_norm" and arguments["running_mean"] is None:
        return f"{place} with track_running_stats=False"
    return None


def _refuse(problems):
    problems = list(dict.fromkeys(problem for problem in problems if problem))
    refuse([f"{problems[0]} can't be exported"] if len(problems) == 1 else problems, "parts of the module")


def forget_loops():
    """For torch.onnx.export recurrent layers are loops for a while; what torch keeps of that would be captured later."""
    for function in (aten.lstm.input, aten.gru.input):
        function._dispatch_cache.clear()


def refuse_functions(program):
    """Names every call at once that would not train as it does in PyTorch."""
    # What BatchNorm layers count, and nothing reads.
    counts = {place for place, target in program.graph_signature.inputs_to_buffers.items()
              if target.endswith("num_batches_tracked")}
    _refuse([_problem(node, counts) for node in _calls(program)])


def refuse_training_in_evaluation(program):
    """Evaluation must be deterministic, and change nothing."""
    problems = [f"dropout in {_place(node)} that drops in evaluation too" for node in _aten_calls(program, "dropout")
                if _arguments(node)["train"] and _arguments(node)["p"]]
    problems += [f"{_place(node)} that takes the batch's statistics in evaluation too"
                 for node in _aten_calls(program, "batch_norm") if _arguments(node)["training"]]
    _refuse(problems)


def batch_norm_settings(program, double):
    """What onward.prepare is told of BatchNorm layers, as they are in training."""
    norms = [(node, _arguments(node)) for node in _aten_calls(program, "batch_norm")]
    modes = {arguments["training"]: node for node, arguments in reversed(norms)}
    if len(modes) > 1:
        raise onward.Error(f"{_place(modes[True])} is in training mode and {_place(modes[False])} is not: all BatchNorm "
                           "layers must be in the same mode, so call train() or eval() on both")
    if not modes.get(True):
        return {"batch_norm": "frozen"}
    settings = {"batch_norm": "batch", "batch_variance": "unbiased"}
    momenta = {arguments["momentum"] for _, arguments in norms}
    if len(momenta) == 1:
        return settings | {"batch_momentum": 1 - momenta.pop()}
    # Each in its node's attribute, which keeps a number of a few decimals.
    for node, arguments in norms:
        kept = 1 - arguments["momentum"]
        if double and float(str(torch.tensor(kept, dtype=torch.float32).numpy())) != round(kept, 15):
            raise onward.Error(f"{_place(node)} with momentum={arguments['momentum']} can't be exported: layers differ in "
                               "momentum, and ONNX attributes are of float32")
    return settings


def warn_of_rounded_settings(program):
    """The settings that only an attribute can say, of a module in float64."""
    for name in ("batch_norm", "layer_norm"):
        for node in _aten_calls(program, name):
            warn_if_rounded(_arguments(node)["eps"], "eps", _place(node), True, stacklevel=4)


def numbers(program):
    """All float numbers that a program computes with."""
    found = set()

    def add(value):
        if isinstance(value, float):
            found.add(value)
        elif isinstance(value, (list, tuple)):
            for each in value:
                add(each)

    for node in program.graph.nodes:
        add(node.args)
        add(tuple(node.kwargs.values()))
    return found


# ---- functions in terms of others, where ONNX's own differ in their gradients, or in kind

def _clamp(x, low=None, high=None):
    """The exporter would write Max and Min, which share a gradient where they tie."""
    if not x.dtype.is_floating_point:
        return NotImplemented
    if low is None:
        return x.clamp_max(high)
    return x.clamp_min(low) if high is None else aten.hardtanh(x, low, high)


def _relu6(x):
    return aten.hardtanh(x, 0.0, 6.0)


def _squeeze(x, dims):
    """Leaves dimensions alone that are not one, as PyTorch does and ONNX does not."""
    ones = [dim for dim in sorted({dim % max(x.dim(), 1) for dim in dims}) if x.dim() and x.shape[dim] == 1]
    sizes = [size for dim, size in enumerate(x.shape) if dim not in ones]
    return x.reshape(sizes) if ones else x.clone()


def _squeeze_all(x):
    return _squeeze(x, range(x.dim()))


def _squeeze_one(x, dim):
    return _squeeze(x, [dim])


def _amax(x, dims=(), keepdim=False):
    return aten.amax(x, list(range(x.dim())), keepdim) if not dims else NotImplemented


def _amin(x, dims=(), keepdim=False):
    return aten.amin(x, list(range(x.dim())), keepdim) if not dims else NotImplemented


def _in_type_first(function):
    """Sums and products of a type that is told, which the exporter drops."""
    def decomposed(x, *arguments, dtype=None):
        return NotImplemented if dtype in (None, x.dtype) else function(x.to(dtype), *arguments)
    return decomposed


def _unbind(x, dim=0):
    return [x.select(dim, place) for place in range(x.shape[dim])]


def _leaky_relu(x, slope=0.01):
    """An ONNX attribute is a float32."""
    if x.dtype != torch.float64 or is_float32(slope):
        return NotImplemented
    return torch.where(x > 0, x, x * slope)


def _split_with_sizes(x, sizes, dim=0):
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [x.narrow(dim, start, size) for start, size in zip(starts, sizes)]


def _split(x, size, dim=0):
    whole = x.shape[dim]
    if not isinstance(whole, int):
        return NotImplemented
    return _split_with_sizes(x, [min(size, whole - start) for start in range(0, whole, size)], dim)


def _chunk(x, count, dim=0):
    whole = x.shape[dim]
    return _split(x, -(-whole // count), dim) if isinstance(whole, int) else NotImplemented


DECOMPOSITIONS = {aten.squeeze.default: _squeeze_all, aten.squeeze.dim: _squeeze_one, aten.squeeze.dims: _squeeze,
                  aten.amax.default: _amax, aten.amin.default: _amin, aten.unbind.int: _unbind,
                  **{each: _in_type_first(each) for each in (aten.sum.default, aten.sum.dim_IntList, aten.prod.default,
                                                             aten.prod.dim_int, aten.cumsum.default)},
                  aten.clamp.default: _clamp, aten.relu6.default: _relu6,
                  aten.leaky_relu.default: _leaky_relu, aten.chunk.default: _chunk,
                  aten.split.Tensor: _split, aten.split_with_sizes.default: _split_with_sizes}


def decomposed(program):
    return program.run_decompositions(DECOMPOSITIONS)


def are_same(one, other):
    """Whether two captured programs of one module are the same to the letter, those inside of branches and loops too."""
    def code(program):
        return {path: module.code for path, module in program.graph_module.named_modules()
                if isinstance(module, torch.fx.GraphModule)}

    return code(one) == code(other) and one.constants.keys() == other.constants.keys() and all(
        isinstance(value, torch.Tensor) and value.dtype == other.constants[name].dtype
        and torch.equal(value, other.constants[name]) for name, value in one.constants.items())
