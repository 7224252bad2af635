// Gather of whole rows, and its backward.

#include <cstring>

#include "onward/error.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

Reason refuses_gather(const Node& node) {
  const DType index = node.input(1)->type.dtype;
  if (index != DType::i64 && index != DType::i32) return "indices are neither i32 nor i64";
  if (node.int_or("axis", 0) != 0) return "not along the first axis";
  if (bits(node.output(0)->type.dtype) % 8 != 0) return "elements are smaller than a byte";
  return {};
}

template <typename Index>
void plan_gather(Site& site) {
  const auto dims = site.input_dims(0);
  const int64_t rows = dims[0], count = checked_element_count(site.input_dims(1));
  size_t row_bytes = static_cast<size_t>(bits(site.dtype())) / 8;
  for (size_t d = 1; d < dims.size(); ++d) row_bytes *= static_cast<size_t>(dims[d]);
  const SlotIndex x = site.input(0), indices = site.input(1), y = site.output(0);
  site.action([=](const Run& run) {
    const Index* at = run.at<Index>(indices);
    for (int64_t i = 0; i < count; ++i) {
      if (at[i] < -rows || at[i] >= rows) {
        throw Error("index " + std::to_string(at[i]) + " is out of range for " +
                    std::to_string(rows) + " rows");
      }
    }
    if (row_bytes == 0) return;
    parallel_for(count, static_cast<double>(row_bytes) * 0.1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const auto row = static_cast<size_t>(at[i] < 0 ? at[i] + rows : at[i]);
        std::memcpy(run.at<std::byte>(y) + static_cast<size_t>(i) * row_bytes,
                    run.at<std::byte>(x) + row * row_bytes, row_bytes);
      }
    });
  });
}

void make_gather(Site& site) {
  site.node().input(1)->type.dtype == DType::i64 ? plan_gather<int64_t>(site)
                                                 : plan_gather<int32_t>(site);
}

constexpr KernelChoice kIndexingChoices[] = {
    {"Gather", "rows", refuses_gather, make_gather},
};

}  // namespace

std::span<const KernelChoice> indexing_choices() { return kIndexingChoices; }

}  // namespace onward
