// Convolution and its two gradients, by oneDNN. Image tensors are channels-last; weights are plain
// in the state and are brought into the layout that oneDNN wants in each step, which is little next
// to the convolution itself.

#include <algorithm>

#include "ops/window.h"
#include "runtime/kernels/conv_im2col.h"
#include "runtime/kernels/conv_taps.h"
#include "runtime/kernels/conv_weights.h"
#include "runtime/kernels/conv_winograd.h"
#include "runtime/kernels/onednn.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// A convolution y = conv(x, w), whichever of the three is computed.
struct Geometry {
  std::vector<int64_t> x, w, y;  // w with the groups in front, where there are several
  std::vector<int64_t> strides, dilations, before, after;

  /// What one thread takes for it, in nanoseconds.
  double cost() const {
    const int64_t taps = checked_element_count(w) / y[1];  // of one result
    return product_cost(2.0 * static_cast<double>(checked_element_count(y) * taps));
  }
};

/// Puts dimensions of size one, in which nothing moves, before the others: the same elements in
/// memory, and oneDNN runs along the last dimension. Of an image of one column it makes one of one
/// row.
void move_ones_to_front(Geometry& g) {
  const size_t spatial = g.strides.size();
  const auto is_one = [&](size_t d) {
    const auto last = [&](const std::vector<int64_t>& dims) {
      return dims[dims.size() - spatial + d];
    };
    return last(g.x) == 1 && last(g.w) == 1 && last(g.y) == 1 && g.before[d] == 0 &&
           g.after[d] == 0;
  };
  std::vector<size_t> order;
  for (const bool ones : {true, false}) {
    for (size_t d = 0; d < spatial; ++d) {
      if (is_one(d) == ones) order.push_back(d);
    }
  }
  for (auto* list : {&g.x, &g.w, &g.y, &g.strides, &g.dilations, &g.before, &g.after}) {
    const std::vector<int64_t> old = *list;
    const size_t first = old.size() - spatial;
    for (size_t d = 0; d < spatial; ++d) (*list)[first + d] = old[first + order[d]];
  }
}

Geometry read_geometry(const Node& node, std::vector<int64_t> x, std::vector<int64_t> w,
                       std::vector<int64_t> y) {
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  const Window window = read_window(node, std::span(x).subspan(2), kernel);
  window.require_result(y);
  Geometry g{.strides = window.strides, .before = window.before, .after = window.after};
  for (const int64_t dilation : window.dilations) g.dilations.push_back(dilation - 1);
  const int64_t groups = node.int_or("group", 1);
  if (groups > 1) {
    w[0] /= groups;
    w.insert(w.begin(), groups);
  }
  g.x = std::move(x), g.w = std::move(w), g.y = std::move(y);
  move_ones_to_front(g);
  return g;
}

Reason refuses_conv(const Node& node) {
  if (node.output(0)->type.dtype != DType::f32) return "oneDNN convolves only f32";
  const auto dims = *static_dims(*node.output(0));
  if (dims.size() < 3 || dims.size() > 5) return "not 1 to 3 spatial dimensions";
  for (const Value* value : {node.input(0), node.input(1)}) {
    if (checked_element_count(*static_dims(*value)) == 0) return "no elements";
  }
  if (checked_element_count(dims) == 0) return "no elements";
  // oneDNN counts in 32 bits, and its kernels are made for windows that meet the image.
  const auto w = *static_dims(node.op == "ConvGradW" ? *node.output(0) : *node.input(1));
  if (pads_whole_windows(node, std::span(w).subspan(2))) return "windows in the padding alone";
  return {};
}

/// oneDNN 3.2's and 3.8's backward weights of a 1x1 kernel with strides gathers the places that are
/// read, of channels last in whole vectors of eight, and so writes past its own memory where the
/// channels are no multiple of that: wrong gradients, or a crash.
Reason refuses_conv_grad_w(const Node& node) {
  if (Reason reason = refuses_conv(node); !reason.empty()) return reason;
  constexpr int64_t kVector = 8;
  const auto w = *static_dims(*node.output(0));
  const auto* strides = node.get<std::vector<int64_t>>("strides");
  const bool strided = strides && std::ranges::any_of(*strides, [](int64_t s) { return s > 1; });
  const bool one_tap = checked_element_count(std::span(w).subspan(2)) == 1;
  if (strided && one_tap && w[1] % kVector != 0) {
    return "oneDNN is wrong if channels are not a multiple of 8";
  }
  return {};
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

convolution_forward::primitive_desc forward_desc(const Geometry& g, bool bias,
                                                 dnnl::prop_kind kind) {
  const auto x = channels_last_desc(g.x), w = any_desc(g.w), y = channels_last_desc(g.y);
  const auto attributes = user_scratchpad();
  if (bias) {
    return {onednn_engine(), kind,        kDirect,  x,       w,         plain_desc({g.y[1]}), y,
            g.strides,       g.dilations, g.before, g.after, attributes};
  }
  return {onednn_engine(), kind,        kDirect,  x,       w,         y,
          g.strides,       g.dilations, g.before, g.after, attributes};
}

/// Input `index`, plain weights, in the layout that a primitive wants. Where the two differ,
/// bringing one into the other is an action of its own: that of constant weights runs once.
Bound weights_in(Site& site, size_t index, const Geometry& g, const memory::desc& wanted) {
  const memory::desc given = plain_desc(g.w);
  if (given == wanted) return {given, site.input(index)};
  const auto [from, to] = site.rearranged(index, wanted.get_size());
  Bound plain(given, from), arranged(wanted, to);
  const double cost = 0.5 * static_cast<double>(checked_element_count(g.w));
  site.before("reorder of weights", {from}, {to},
              [=, reorder = dnnl::reorder(plain.memory, arranged.memory)](const Run& run) mutable {
                const LibraryThreads threads(cost);
                execute(reorder, {{DNNL_ARG_FROM, plain.in(run)}, {DNNL_ARG_TO, arranged.in(run)}});
              });
  return arranged;
}

/// Weights that a primitive computes in the layout that it wants, and that become plain.
class Weights {
 public:
  Weights() = default;
  static Weights result(Site& site, SlotIndex plain, const Geometry& g,
                        const memory::desc& computed) {
    Weights made;
    made.plain_ = Bound(plain_desc(g.w), plain);
    made.same_ = plain_desc(g.w) == computed;
    made.wanted_ = made.same_ ? made.plain_ : Bound(computed, site.scratch(computed.get_size()));
    if (!made.same_) made.reorder_ = dnnl::reorder(made.wanted_.memory, made.plain_.memory);
    return made;
  }
  dnnl_memory_t place(const Run& run) { return wanted_.in(run); }
  void finish(const Run& run) {
    if (same_) return;
    execute(reorder_, {{DNNL_ARG_FROM, wanted_.memory.get()}, {DNNL_ARG_TO, plain_.in(run)}});
  }

 private:
  Bound plain_, wanted_;
  bool same_ = true;
  dnnl::reorder reorder_;
};

void make_conv(Site& site) {
  const Geometry g =
      read_geometry(site.node(), site.input_dims(0), site.input_dims(1), site.output_dims(0));
  const double cost = g.cost();
  const LibraryThreads making(cost);  // a primitive is made for a number of threads
  const bool has_bias = site.has_input(2);
  const auto desc = forward_desc(g, has_bias, dnnl::prop_kind::forward_training);
  Bound x(desc.src_desc(), site.input(0, Layout::channels_last));
  Bound w = weights_in(site, 1, g, desc.weights_desc());
  Bound b = has_bias ? Bound(desc.bias_desc(), site.input(2)) : Bound();
  Bound y(desc.dst_desc(), site.output(0, Layout::channels_last));
  Bound scratch(desc.scratchpad_desc(), site.scratch(desc.scratchpad_desc().get_size()));
  site.action([=, conv = convolution_forward(desc)](const Run& run) mutable {
    const LibraryThreads threads(cost);
    execute(conv, {{DNNL_ARG_SRC, x.in(run)},
                   {DNNL_ARG_WEIGHTS, w.in(run)},
                   {DNNL_ARG_DST, y.in(run)},
                   {DNNL_ARG_SCRATCHPAD, scratch.in(run)},
                   {DNNL_ARG_BIAS, has_bias ? b.in(run) : nullptr}});
  });
}

// ConvGradX(dy, w, x_shape)
void make_conv_grad_x(Site& site) {
  const Geometry g =
      read_geometry(site.node(), site.output_dims(0), site.input_dims(1), site.input_dims(0));
  const double cost = g.cost();
  const LibraryThreads making(cost);
  const auto hint = forward_desc(g, false, dnnl::prop_kind::forward_training);
  const convolution_backward_data::primitive_desc desc(
      onednn_engine(), kDirect, channels_last_desc(g.x), any_desc(g.w), channels_last_desc(g.y),
      g.strides, g.dilations, g.before, g.after, hint, user_scratchpad());
  Bound dy(desc.diff_dst_desc(), site.input(0, Layout::channels_last));
  Bound w = weights_in(site, 1, g, desc.weights_desc());
  Bound dx(desc.diff_src_desc(), site.output(0, Layout::channels_last));
  Bound scratch(desc.scratchpad_desc(), site.scratch(desc.scratchpad_desc().get_size()));
  site.action([=, conv = convolution_backward_data(desc)](const Run& run) mutable {
    const LibraryThreads threads(cost);
    execute(conv, {{DNNL_ARG_DIFF_DST, dy.in(run)},
                   {DNNL_ARG_WEIGHTS, w.in(run)},
                   {DNNL_ARG_DIFF_SRC, dx.in(run)},
                   {DNNL_ARG_SCRATCHPAD, scratch.in(run)}});
  });
}

// ConvGradW(x, dy, w_shape)
void make_conv_grad_w(Site& site) {
  const Geometry g =
      read_geometry(site.node(), site.input_dims(0), site.output_dims(0), site.input_dims(1));
  const double cost = g.cost();
  const LibraryThreads making(cost);
  const auto hint = forward_desc(g, false, dnnl::prop_kind::forward_training);
  const convolution_backward_weights::primitive_desc desc(
      onednn_engine(), kDirect, channels_last_desc(g.x), any_desc(g.w), channels_last_desc(g.y),
      g.strides, g.dilations, g.before, g.after, hint, user_scratchpad());
  Bound x(desc.src_desc(), site.input(0, Layout::channels_last));
  Bound dy(desc.diff_dst_desc(), site.input(1, Layout::channels_last));
  Weights dw = Weights::result(site, site.output(0), g, desc.diff_weights_desc());
  Bound scratch(desc.scratchpad_desc(), site.scratch(desc.scratchpad_desc().get_size()));
  site.action([=, conv = convolution_backward_weights(desc)](const Run& run) mutable {
    const LibraryThreads threads(cost);
    execute(conv, {{DNNL_ARG_SRC, x.in(run)},
                   {DNNL_ARG_DIFF_DST, dy.in(run)},
                   {DNNL_ARG_DIFF_WEIGHTS, dw.place(run)},
                   {DNNL_ARG_SCRATCHPAD, scratch.in(run)}});
    dw.finish(run);
  });
}

constexpr KernelChoice kConvChoices[] = {
    {"Conv", "winograd 4x4", refuses_winograd_4x4, make_conv_by_winograd_4x4, "",
     Layout::channels_last},
    {"Conv", "winograd 2x2", refuses_winograd_2x2, make_conv_by_winograd_2x2, "",
     Layout::channels_last},
    {"Conv", "onednn", refuses_conv, make_conv, "", Layout::channels_last},
    {"Conv", "im2col", refuses_im2col, make_conv_by_im2col},
    {"ConvGradW", "winograd 4x4", refuses_winograd_4x4_grad_w, make_conv_grad_w_by_winograd_4x4,
     "onward", Layout::channels_last},
    {"ConvGradW", "winograd 2x2", refuses_winograd_2x2_grad_w, make_conv_grad_w_by_winograd_2x2,
     "onward", Layout::channels_last},
    {"ConvGradW", "taps", refuses_taps, make_conv_grad_w_by_taps, "onward", Layout::channels_last},
    {"ConvGradW", "registers", refuses_register_sums, make_conv_grad_w_in_registers, "onward",
     Layout::channels_last},
    {"ConvGradW", "onednn", refuses_conv_grad_w, make_conv_grad_w, "onward", Layout::channels_last},
    {"ConvGradW", "im2col", refuses_im2col, make_conv_grad_w_by_im2col, "onward"},
    {"ConvGradX", "winograd 4x4", refuses_winograd_4x4, make_conv_grad_x_by_winograd_4x4, "onward",
     Layout::channels_last},
    {"ConvGradX", "winograd 2x2", refuses_winograd_2x2, make_conv_grad_x_by_winograd_2x2, "onward",
     Layout::channels_last},
    {"ConvGradX", "onednn", refuses_conv, make_conv_grad_x, "onward", Layout::channels_last},
    {"ConvGradX", "im2col", refuses_im2col, make_conv_grad_x_by_im2col, "onward"},
};

}  // namespace

std::span<const KernelChoice> conv_choices() { return kConvChoices; }

}  // namespace onward
