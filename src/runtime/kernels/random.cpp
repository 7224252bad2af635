// Dropout, in all threads: a random number depends on its index alone.

#include <algorithm>
#include <cmath>

#include "eval/random_numbers.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

bool is_f32_or_f64(const Value& value) {
  return value.type.dtype == DType::f32 || value.type.dtype == DType::f64;
}

Reason refuses_dropout(const Node& node) {
  if (!is_f32_or_f64(*node.input(0))) return "neither f32 nor f64";
  if (node.input(1) && !is_f32_or_f64(*node.input(1))) return "a ratio neither f32 nor f64";
  for (const Value* number : {node.input(1), node.input(2)}) {
    if (number && checked_element_count(*static_dims(*number)) != 1) return "not one number";
  }
  return {};
}

/// The smallest of 2^53 equal steps of [0, 1) that is not below the ratio.
uint64_t threshold_of(double ratio) {
  if (!(ratio > 0 && ratio <= 1)) {
    throw Error("the ratio of elements to drop is not between 0 and 1");
  }
  return static_cast<uint64_t>(std::ceil(ratio * 0x1p53));
}

// Dropout(x, ratio, training) gives y and the mask.
template <typename T>
void plan_dropout(Site& site) {
  const Node& node = site.node();
  const int64_t count = checked_element_count(site.input_dims(0));
  const bool wide_ratio = site.has_input(1) && node.input(1)->type.dtype == DType::f64;
  const SlotIndex x = site.input(0), ratio_at = site.has_input(1) ? site.input(1) : -1,
                  training_at = site.has_input(2) ? site.input(2) : -1;
  const bool masks = site.has_output(1) && is_needed(*node.output(1));
  const SlotIndex y = site.output(0), mask_at = masks ? site.output(1) : -1;
  site.action([=, &node](const Run& run) {
    const double ratio = ratio_at < 0 ? 0.5
                         : wide_ratio ? *run.at<double>(ratio_at)
                                      : static_cast<double>(*run.at<float>(ratio_at));
    const bool drops = training_at >= 0 && *run.at<uint8_t>(training_at) != 0 && ratio != 0;
    const T* from = run.at<T>(x);
    T* to = run.at<T>(y);
    uint8_t* mask = masks ? run.at<uint8_t>(mask_at) : nullptr;
    if (!drops) {
      std::copy_n(from, count, to);
      if (mask) std::fill_n(mask, count, uint8_t{1});
      return;
    }
    const eval::RandomNumbers random = eval::random_numbers_of(node, *run.random);
    const uint64_t threshold = threshold_of(ratio);
    const T scale = static_cast<T>(1) / static_cast<T>(1 - ratio);
    parallel_for(count, 2.5, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const bool kept = random.uniform_bits(static_cast<uint64_t>(i)) >= threshold;
        to[i] = kept ? from[i] * scale : T(0);
        if (mask) mask[i] = kept;
      }
    });
  });
}

void make_dropout(Site& site) {
  site.dtype() == DType::f32 ? plan_dropout<float>(site) : plan_dropout<double>(site);
}

constexpr KernelChoice kRandomChoices[] = {
    {"Dropout", "counters", refuses_dropout, make_dropout},
};

}  // namespace

std::span<const KernelChoice> random_choices() { return kRandomChoices; }

}  // namespace onward
