#include "emit/snippets.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "onward/error.h"

namespace onward::emit {
namespace {

struct Snippet {
  std::string_view name;
  std::vector<std::string_view> needs;
  std::string_view torch;
  std::string_view keras;
};

const Snippet kSnippets[] = {
    {"truncated_division", {}, "", R"(
def truncated_division(a, b):
    """Divides integers towards zero."""
    return ops.sign(a) * ops.sign(b) * (ops.abs(a) // ops.abs(b))
)"},
    {"clip",
     {},
     R"(
def clip(x, min=None, max=None):
    """Brings x between the limits. On them it keeps its gradient, which torch.clamp stops."""
    if min is not None:
        x = torch.where(x < min, min, x)
    if max is not None:
        x = torch.where(x > max, max, x)
    return x
)",
     ""},
    {"broadcast_all", {}, "", R"(
def broadcast_all(tensors):
    """The tensors, all of them in one shape."""
    whole = tensors[0]
    for tensor in tensors[1:]:
        whole = ops.where(True, whole, tensor)
    return [ops.where(True, tensor, whole) for tensor in tensors]
)"},
    {"largest",
     {"broadcast_all"},
     R"(
def largest(*tensors):
    """The largest elements. Those that tie share the gradient."""
    return torch.stack(torch.broadcast_tensors(*tensors)).amax(dim=0)
)",
     R"(
def largest(*tensors):
    """The largest elements. Those that tie share the gradient."""
    return ops.max(ops.stack(broadcast_all(tensors)), axis=0)
)"},
    {"smallest",
     {"broadcast_all"},
     R"(
def smallest(*tensors):
    """The smallest elements. Those that tie share the gradient."""
    return torch.stack(torch.broadcast_tensors(*tensors)).amin(dim=0)
)",
     R"(
def smallest(*tensors):
    """The smallest elements. Those that tie share the gradient."""
    return ops.min(ops.stack(broadcast_all(tensors)), axis=0)
)"},
    {"reshape",
     {},
     R"(
def reshape(x, shape):
    """A size of 0 is that of x in the same place."""
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape.tolist())])
)",
     R"(
def reshape(x, shape):
    """A size of 0 is that of x in the same place."""
    own = ops.cast(ops.convert_to_tensor(ops.shape(x)), shape.dtype)
    own = ops.concatenate([own, ops.zeros_like(shape)])[: ops.shape(shape)[0]]
    return ops.reshape(x, ops.where(shape == 0, own, shape))
)"},
    {"squeeze", {}, "", R"(
def squeeze(x, axes):
    """Without the dimensions `axes`, whose sizes are 1 when it runs."""
    sizes = ops.shape(x)
    dropped = [axis % len(sizes) for axis in axes]
    return ops.reshape(x, [size for axis, size in enumerate(sizes) if axis not in dropped])
)"},
    {"unsqueeze",
     {},
     R"(
def unsqueeze(x, axes):
    """Adds dimensions of size 1; axes count in the result."""
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x
)",
     R"(
def unsqueeze(x, axes):
    """Adds dimensions of size 1; axes count in the result."""
    rank = len(x.shape) + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = ops.expand_dims(x, axis)
    return x
)"},
    {"conv_transpose", {}, "", R"(
def conv_transpose(x, kernel, sizes, strides, dilations, before, behind, groups):
    """Each element of x times the kernel, added up `strides` apart; `before` and `behind` are cut off."""
    rank = len(strides)
    widths = [(0, 0)] * (rank + 2)
    kept = [slice(None)] * (rank + 2)
    for d, stride in enumerate(strides):
        # Zeros between the elements, then a convolution with the kernel turned round.
        shape = list(ops.shape(x))
        shape[d + 1] *= stride
        spread = [(0, 0)] * (rank + 3)
        spread[d + 2] = (0, stride - 1)
        x = ops.reshape(ops.pad(ops.expand_dims(x, d + 2), spread), shape)
        reach = (sizes[d] - 1) * dilations[d]
        front, back = reach - before[d], reach - behind[d] - stride + 1
        widths[d + 1] = (max(front, 0), max(back, 0))
        kept[d + 1] = slice(max(-front, 0), min(back, 0) or None)
    channels, outputs = ops.shape(kernel)[:2]
    kernel = ops.reshape(ops.flip(kernel, tuple(range(2, rank + 2))), (groups, channels // groups, outputs, *sizes))
    kernel = ops.transpose(kernel, (*range(3, rank + 3), 1, 0, 2))
    kernel = ops.reshape(kernel, (*sizes, channels // groups, groups * outputs))
    return ops.conv(ops.pad(x, widths)[tuple(kept)], kernel, dilation_rate=dilations, data_format="channels_last")
)"},
    {"one_hot",
     {},
     R"(
def one_hot(indices, depth, values, axis):
    """values[1] where an index points, values[0] elsewhere; negative indices count from the end."""
    indices = torch.where(indices < 0, indices + depth, indices).unsqueeze(axis)
    places = [1] * indices.ndim
    places[axis] = depth
    hot = indices == torch.arange(depth, device=indices.device).reshape(places)
    return torch.where(hot, values[1], values[0])
)",
     R"(
def one_hot(indices, depth, values, axis):
    """values[1] where an index points, values[0] elsewhere; negative indices count from the end."""
    indices = ops.expand_dims(ops.where(indices < 0, indices + depth, indices), axis)
    places = [1] * len(indices.shape)
    places[axis] = depth
    hot = ops.equal(indices, ops.reshape(ops.arange(depth, dtype=indices.dtype), places))
    return ops.where(hot, values[1], values[0])
)"},
    {"larger_size", {}, "", R"(
def larger_size(a, b):
    """The larger of two sizes, which are numbers, or tensors where only a batch tells them."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else ops.maximum(a, b)
)"},
    {"pad",
     {"larger_size"},
     R"(
def pad(x, pads, axes=None, mode="constant", value=0):
    """Adds `pads` before all axes, then after; negative ones cut off."""
    axes = range(x.ndim) if axes is None else axes
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        at = torch.arange(-pads[i], size + pads[i + len(axes)], device=x.device)
        if mode == "wrap":
            x = x.index_select(axis, at % size)
        elif mode == "reflect":
            period = max(2 * (size - 1), 1)
            x = x.index_select(axis, (size - 1) - ((size - 1) - at % period).abs())
        else:
            x = x.index_select(axis, at.clamp(0, size - 1))
            if mode == "constant":
                places = [1] * x.ndim
                places[axis] = -1
                x = torch.where(((at >= 0) & (at < size)).reshape(places), x, value)
    return x
)",
     R"(
def pad(x, pads, axes=None, mode="constant", value=0):
    """Adds `pads` before all axes, then after; negative ones cut off."""
    axes = range(len(x.shape)) if axes is None else axes
    for i, axis in enumerate(axes):
        size = ops.shape(x)[axis]
        at = ops.arange(-pads[i], size + pads[i + len(axes)])
        if mode == "wrap":
            x = ops.take(x, at % size, axis=axis)
        elif mode == "reflect":
            period = larger_size(2 * (size - 1), 1)
            x = ops.take(x, (size - 1) - ops.abs((size - 1) - at % period), axis=axis)
        else:
            x = ops.take(x, ops.clip(at, 0, size - 1), axis=axis)
            if mode == "constant":
                places = [1] * len(x.shape)
                places[axis] = -1
                inside = ops.reshape(ops.logical_and(at >= 0, at < size), places)
                x = ops.where(inside, x, ops.cast(value, x.dtype))
    return x
)"},
    {"split", {}, "", R"(
def split(x, lengths, axis):
    """Parts of these lengths."""
    begins = np.cumsum([0, *lengths]).tolist()
    before = (slice(None),) * (axis % len(x.shape))
    return [x[(*before, slice(*ends))] for ends in zip(begins, begins[1:])]
)"},
    {"take_slices",
     {"larger_size"},
     R"(
def take_slices(x, starts, ends, axes=None, steps=None):
    """Slices along several axes. Backwards from before the beginning is from the first element."""
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        start = max(start, -x.shape[axis]) if step < 0 else start
        at = range(*slice(start, end, step).indices(x.shape[axis]))
        x = x.index_select(axis, torch.tensor(list(at), dtype=torch.int64, device=x.device))
    return x
)",
     R"(
def take_slices(x, starts, ends, axes=None, steps=None):
    """Slices along several axes. Backwards from before the beginning is from the first element."""
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = ops.shape(x)[axis]
        start, end = (max(-(2**30), min(each, 2**30)) for each in (start, end))
        start = larger_size(-larger_size(-start, -size), -size)
        end = larger_size(-larger_size(-end, -size), -size - 1)
        x = x[(slice(None),) * (axis % len(x.shape)) + (slice(start, end, step),)]
    return x
)"},
    {"same_pads",
     {"larger_size"},
     R"(
def same_pads(x, kernel, strides, dilations, lower=False):
    """The pads, before then after, that let windows cover x; the odd one goes behind, or before."""
    totals = []
    for size, k, stride, dilation in zip(x.shape[2:], kernel, strides, dilations):
        outputs = -(-size // stride)
        totals.append(max(0, (outputs - 1) * stride + (k - 1) * dilation + 1 - size))
    before = [total - total // 2 if lower else total // 2 for total in totals]
    return before + [total - b for total, b in zip(totals, before)]
)",
     R"(
def same_pads(x, kernel, strides, dilations, lower=False):
    """The pads, before then after, that let windows cover x; the odd one goes behind, or before."""
    totals = []
    for size, k, stride, dilation in zip(ops.shape(x)[1:-1], kernel, strides, dilations):
        outputs = -(-size // stride)
        totals.append(larger_size(0, (outputs - 1) * stride + (k - 1) * dilation + 1 - size))
    before = [total - total // 2 if lower else total // 2 for total in totals]
    return before + [total - b for total, b in zip(totals, before)]
)"},
    {"pad_same",
     {"same_pads"},
     R"(
def pad_same(x, kernel, strides, dilations=None, lower=False, value=0.0):
    """x with the pads that let windows cover it."""
    pads = same_pads(x, kernel, strides, dilations or [1] * len(kernel), lower)
    rank = len(kernel)
    return F.pad(x, [pads[d + side] for d in reversed(range(rank)) for side in (0, rank)], value=value)
)",
     R"(
def pad_same(x, kernel, strides, dilations=None, lower=False, value=0.0):
    """x with the pads that let windows cover it."""
    pads = same_pads(x, kernel, strides, dilations or [1] * len(kernel), lower)
    rank = len(kernel)
    widths = [(0, 0), *((pads[d], pads[d + rank]) for d in range(rank)), (0, 0)]
    return ops.pad(x, widths, constant_values=value)
)"},
    {"window_slices",
     {"larger_size"},
     R"(
def window_slices(x, kernel, strides, pads, dilations, ceil_mode, fill, beyond):
    """For each place of a window, what all windows have there.

    The pads hold `fill`; what rounding up reaches behind them holds `beyond`."""
    rank = len(kernel)
    inner, outer, counts = [], [], []
    for d in range(rank):
        size, before, after = x.shape[d + 2], pads[d], pads[d + rank]
        reach = (kernel[d] - 1) * dilations[d] + 1
        room = size + before + after - reach
        count = (room + strides[d] - 1 if ceil_mode else room) // strides[d] + 1
        if ceil_mode and (count - 1) * strides[d] >= size + before:
            count -= 1  # a window that would begin behind x
        counts.append(count)
        inner = [before, after] + inner
        outer = [0, max(0, (count - 1) * strides[d] - room)] + outer
    x = F.pad(F.pad(x, inner, value=fill), outer, value=beyond)
    for place in itertools.product(*(range(k) for k in kernel)):
        begins = [p * dilation for p, dilation in zip(place, dilations)]
        yield x[(..., *(slice(begin, begin + (count - 1) * stride + 1, stride)
                        for begin, count, stride in zip(begins, counts, strides)))]
)",
     R"(
def window_slices(x, kernel, strides, pads, dilations, ceil_mode, fill, beyond):
    """For each place of a window, what all windows have there.

    The pads hold `fill`; what rounding up reaches behind them holds `beyond`."""
    rank = len(kernel)
    inner, outer, counts = [], [], []
    for d in range(rank):
        size, before, after = ops.shape(x)[d + 1], pads[d], pads[d + rank]
        reach = (kernel[d] - 1) * dilations[d] + 1
        room = size + before + after - reach
        count = (room + strides[d] - 1 if ceil_mode else room) // strides[d] + 1
        if ceil_mode:  # without a window that would begin behind x
            behind = larger_size(0, (count - 1) * strides[d] - size - before + 1)
            count += larger_size(-1, -behind)
        counts.append(count)
        inner.append((before, after))
        outer.append((0, larger_size(0, (count - 1) * strides[d] - room)))
    x = ops.pad(x, [(0, 0), *inner, (0, 0)], constant_values=fill)
    x = ops.pad(x, [(0, 0), *outer, (0, 0)], constant_values=beyond)
    for place in itertools.product(*(range(k) for k in kernel)):
        begins = [p * dilation for p, dilation in zip(place, dilations)]
        yield x[(slice(None), *(slice(begin, begin + (count - 1) * stride + 1, stride)
                                for begin, count, stride in zip(begins, counts, strides)))]
)"},
    {"max_pool",
     {"window_slices"},
     R"(
def max_pool(x, kernel, strides, pads, dilations, ceil_mode=False):
    """The largest of each window, with pads, dilations and rounding as ONNX has them."""
    lowest = float("-inf")
    slices = window_slices(x, kernel, strides, pads, dilations, ceil_mode, lowest, lowest)
    largest = next(slices)
    for each in slices:  # of those that tie, the first one has the gradient
        largest = torch.where((each > largest) | torch.isnan(each), each, largest)
    return largest
)",
     R"(
def max_pool(x, kernel, strides, pads, dilations, ceil_mode=False):
    """The largest of each window, with pads, dilations and rounding as ONNX has them."""
    lowest = float("-inf")
    slices = window_slices(x, kernel, strides, pads, dilations, ceil_mode, lowest, lowest)
    largest = next(slices)
    for each in slices:  # of those that tie, the first one has the gradient
        largest = ops.where(ops.logical_or(each > largest, ops.isnan(each)), each, largest)
    return largest
)"},
    {"average_pool",
     {"window_slices"},
     R"(
def average_pool(x, kernel, strides, pads, dilations, ceil_mode=False, count_pads=False):
    """The mean of each window, with pads, dilations and rounding as ONNX has them."""
    window = (kernel, strides, pads, dilations, ceil_mode)
    total = sum(window_slices(x, *window, 0.0, 0.0))
    ones = torch.ones_like(x[:1, :1])
    places = sum(window_slices(ones, *window, 1.0 if count_pads else 0.0, 0.0))
    return total / places.clamp(min=1.0)
)",
     R"(
def average_pool(x, kernel, strides, pads, dilations, ceil_mode=False, count_pads=False):
    """The mean of each window, with pads, dilations and rounding as ONNX has them."""
    window = (kernel, strides, pads, dilations, ceil_mode)
    total = sum(window_slices(x, *window, 0.0, 0.0))
    ones = ops.ones_like(x[:1, ..., :1])
    places = sum(window_slices(ones, *window, 1.0 if count_pads else 0.0, 0.0))
    return total / ops.maximum(places, 1.0)
)"},
    {"batch_norm",
     {},
     R"(
def batch_norm(x, scale, bias, mean, variance, epsilon, momentum):
    """Normalizes by the batch's own statistics; also gives the running ones, of biased variance."""
    axes = [axis for axis in range(x.ndim) if axis != 1]
    places = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
    batch_variance, batch_mean = torch.var_mean(x, dim=axes, correction=0)
    y = (x - batch_mean.reshape(places)) / torch.sqrt(batch_variance.reshape(places) + epsilon)
    return (y * scale.reshape(places) + bias.reshape(places),
            momentum * mean + (1 - momentum) * batch_mean,
            momentum * variance + (1 - momentum) * batch_variance)
)",
     R"(
def batch_norm(x, scale, bias, mean, variance, epsilon, momentum):
    """Normalizes by the batch's own statistics; also gives the running ones, of biased variance."""
    axes = tuple(range(len(x.shape) - 1))
    batch_mean = ops.mean(x, axis=axes)
    batch_variance = ops.mean(ops.square(x - batch_mean), axis=axes)
    y = (x - batch_mean) / ops.sqrt(batch_variance + epsilon)
    return (y * scale + bias,
            momentum * mean + (1 - momentum) * batch_mean,
            momentum * variance + (1 - momentum) * batch_variance)
)"},
    {"BiasedBatchNorm",
     {},
     R"(
class BiasedBatchNorm(nn.modules.batchnorm._BatchNorm):
    """BatchNorm whose running variance is that of the batch; torch's own is n / (n - 1) times it."""

    def _check_input_dim(self, x):
        pass

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        with torch.no_grad():
            axes = [axis for axis in range(x.ndim) if axis != 1]
            variance, mean = torch.var_mean(x, dim=axes, correction=0)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance, self.momentum)
        return F.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)
)",
     ""},
    {"UnbiasedBatchNormalization", {}, "", R"(
class UnbiasedBatchNormalization(layers.BatchNormalization):
    """Its moving variance is n / (n - 1) times that of the batch, as PyTorch has it."""

    def call(self, x, training=False):
        if not training:
            return super().call(x, training=False)
        axes = tuple(range(len(x.shape) - 1))
        mean = ops.mean(x, axis=axes)
        variance = ops.mean(ops.square(x - mean), axis=axes)
        count = ops.cast(math.prod(ops.shape(x)[:-1]), x.dtype)
        unbiased = variance * count / (count - 1)
        old, new = self.momentum, 1 - self.momentum
        self.moving_mean.assign(old * self.moving_mean + new * mean)
        self.moving_variance.assign(old * self.moving_variance + new * unbiased)
        y = (x - mean) / ops.sqrt(variance + self.epsilon)
        return y * self.gamma + self.beta
)"},
    {"layer_norm", {}, "", R"(
def layer_norm(x, axes, epsilon):
    """Mean 0 and variance 1 along the axes."""
    mean = ops.mean(x, axis=axes, keepdims=True)
    variance = ops.mean(ops.square(x - mean), axis=axes, keepdims=True)
    return (x - mean) / ops.sqrt(variance + epsilon)
)"},
    {"negative_log_likelihood", {}, "", R"(
def negative_log_likelihood(log_prob, labels, weight=None, ignore_index=None, reduction="mean"):
    """The loss of log-probabilities whose classes are in dimension 1; labels lack that dimension."""
    counted = ops.ones_like(labels, dtype=log_prob.dtype)
    if ignore_index is not None:
        counted = ops.cast(ops.not_equal(labels, ignore_index), log_prob.dtype)
        labels = ops.where(ops.equal(labels, ignore_index), 0, labels)
    if weight is not None:
        counted = counted * ops.take(weight, labels)
    picked = ops.take_along_axis(log_prob, ops.expand_dims(labels, 1), axis=1)
    loss = -ops.squeeze(picked, axis=1) * counted
    if reduction == "none":
        return loss
    total = ops.sum(loss)
    return total if reduction == "sum" else total / ops.sum(counted)
)"},
    {"dropout",
     {},
     R"(
def dropout(x, ratio, training):
    """Drops elements, and says which were kept."""
    if not training:
        return x, torch.ones_like(x, dtype=torch.bool)
    mask = torch.rand_like(x) >= ratio
    return torch.where(mask, x / (1 - ratio), 0.0), mask
)",
     R"(
def dropout(x, ratio, training):
    """Drops elements, and says which were kept."""
    if not training:
        return x, ops.ones(ops.shape(x), dtype="bool")
    mask = keras.random.uniform(ops.shape(x), dtype=x.dtype) >= ratio
    return ops.where(mask, x / (1 - ratio), 0.0), mask
)"},
};

const Snippet& find(std::string_view name) {
  const auto* found = std::ranges::find(kSnippets, name, &Snippet::name);
  if (found == std::end(kSnippets)) throw Bug(fmt::format("there is no snippet '{}'", name));
  return *found;
}

void add_with_needs(const Snippet& snippet, std::set<std::string_view>& all) {
  if (!all.insert(snippet.name).second) return;
  for (const std::string_view needed : snippet.needs) add_with_needs(find(needed), all);
}

}  // namespace

std::vector<std::string_view> snippet_names() {
  std::vector<std::string_view> names;
  for (const Snippet& snippet : kSnippets) names.push_back(snippet.name);
  return names;
}

std::string snippet_source(Target target, const std::set<std::string>& names) {
  std::set<std::string_view> all;
  for (const std::string& name : names) add_with_needs(find(name), all);
  std::string text;
  for (const Snippet& snippet : kSnippets) {  // in this order each is after what it needs
    if (!all.contains(snippet.name)) continue;
    text += "\n";
    text += target == Target::torch ? snippet.torch : snippet.keras;
  }
  return text;
}

}  // namespace onward::emit
