#include "runtime/passes/fast_forms.h"

#include "passes/passes.h"

namespace onward {
namespace {

bool is_way_back(const Node& node) { return node.op.ends_with("Grad"); }

bool is_f32_or_f64(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

}  // namespace

std::string refuses_batch_norm(const Node& node) {
  const Value& x = *node.input(is_way_back(node) ? 1 : 0);
  if (!is_f32_or_f64(x.type.dtype)) return "neither f32 nor f64";
  const auto dims = static_dims(x);
  if (!dims || dims->size() < 2) return "no dimension for channels";
  if (checked_element_count(*dims) == 0) return "no elements";
  for (const Value* input : node.inputs()) {
    if (!input) continue;
    if (input->type.dtype != x.type.dtype) return "types are mixed";
    if (static_dims(*input) == dims) continue;
    if (static_dims(*input) != std::vector<int64_t>{(*dims)[1]}) {
      return "not a number for each channel";
    }
  }
  return {};
}

std::string refuses_class_loss(const Node& node) {
  const size_t scores = is_way_back(node) ? 1 : 0;
  const Value &x = *node.input(scores), &labels = *node.input(scores + 1);
  if (!is_f32_or_f64(x.type.dtype)) return "neither f32 nor f64";
  if (labels.type.dtype != DType::i64 && labels.type.dtype != DType::i32) {
    return "labels are neither i32 nor i64";
  }
  for (const Value* input : node.inputs()) {
    if (input && input != &labels && input->type.dtype != x.type.dtype) return "types are mixed";
  }
  const auto dims = static_dims(x);
  if (!dims || dims->size() < 2) return "no dimension for classes";
  if (checked_element_count(*dims) == 0) return "no elements";
  auto without_classes = *dims;
  without_classes.erase(without_classes.begin() + 1);
  if (static_dims(labels) != without_classes) return "labels do not fit the scores";
  const Value* weights = node.input(scores + 2);
  if (weights && static_dims(*weights) != std::vector<int64_t>{(*dims)[1]}) {
    return "not a weight for each class";
  }
  return {};
}

}  // namespace onward
