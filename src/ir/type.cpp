#include "ir/type.h"

#include <fmt/format.h>

namespace onward {
namespace {

std::string to_string(const Dim& dim) {
  if (dim.value) return fmt::format("{}", *dim.value);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

bool same_element(const Type& a, const Type& b) {
  if (!a.element || !b.element) return a.element == b.element;
  return *a.element == *b.element;
}

std::string_view kind_name(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::unknown:
      return "unknown";
    case Type::Kind::tensor:
      return "tensor";
    case Type::Kind::sparse_tensor:
      return "sparse tensor";
    case Type::Kind::sequence:
      return "sequence";
    case Type::Kind::optional:
      return "optional";
    case Type::Kind::map:
      return "map";
    case Type::Kind::opaque:
      return "opaque";
  }
  return "unknown";
}

std::optional<std::string> shape_conflict(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return fmt::format("rank {} and rank {}", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].value && b[i].value && *a[i].value != *b[i].value) {
      return fmt::format("dimension {} is {} and {}", i, *a[i].value, *b[i].value);
    }
  }
  return std::nullopt;
}

Shape merge_shapes(const Shape& a, const Shape& b) {
  Shape merged = a;
  for (size_t i = 0; i < merged.size(); ++i) {
    if (merged[i].value) continue;
    if (b[i].value || merged[i].symbol.empty()) {
      merged[i].value = b[i].value;
      merged[i].symbol = b[i].symbol;
    }
  }
  return merged;
}

}  // namespace

Type Type::tensor(DType dtype, std::optional<Shape> shape) {
  Type type;
  type.kind = Kind::tensor;
  type.dtype = dtype;
  type.shape = std::move(shape);
  return type;
}

Type Type::tensor(DType dtype, std::span<const int64_t> dims) {
  Shape shape;
  for (const int64_t dim : dims) shape.push_back(Dim::known(dim));
  return tensor(dtype, std::move(shape));
}

Type Type::sequence(Type element) {
  Type type;
  type.kind = Kind::sequence;
  type.element = std::make_shared<const Type>(std::move(element));
  return type;
}

Type Type::optional(Type element) {
  Type type = sequence(std::move(element));
  type.kind = Kind::optional;
  return type;
}

Type Type::map(DType key, Type value) {
  Type type = sequence(std::move(value));
  type.kind = Kind::map;
  type.dtype = key;
  return type;
}

bool operator==(const Type& a, const Type& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape && same_element(a, b) &&
         a.opaque_domain == b.opaque_domain && a.opaque_name == b.opaque_name;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + to_string(shape[i]);
  return text + "]";
}

std::string to_string(std::span<const int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::string to_string(const Type& type) {
  const std::string element = type.element ? to_string(*type.element) : "?";
  switch (type.kind) {
    case Type::Kind::unknown:
      return "?";
    case Type::Kind::tensor:
    case Type::Kind::sparse_tensor: {
      const std::string text =
          fmt::format("{}{}", name(type.dtype), type.shape ? to_string(*type.shape) : "[...]");
      return type.is_tensor() ? text : "sparse(" + text + ")";
    }
    case Type::Kind::sequence:
      return "seq(" + element + ")";
    case Type::Kind::optional:
      return "optional(" + element + ")";
    case Type::Kind::map:
      return fmt::format("map({}, {})", name(type.dtype), element);
    case Type::Kind::opaque:
      return fmt::format("opaque({}.{})", type.opaque_domain, type.opaque_name);
  }
  return "?";
}

std::optional<int64_t> element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;  // a later dimension may still be negative
    } else if (!empty && __builtin_mul_overflow(count, dim, &count)) {
      // A zero further on would make the product zero, but no real tensor is written that way.
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

std::optional<int64_t> element_count(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Dim& dim : shape) {
    if (!dim.value) return std::nullopt;
    dims.push_back(*dim.value);
  }
  return element_count(dims);
}

std::optional<std::string> conflict(const Type& a, const Type& b) {
  if (!a.known() || !b.known()) return std::nullopt;
  if (a.kind != b.kind) return fmt::format("{} and {}", kind_name(a.kind), kind_name(b.kind));
  if (a.dtype != b.dtype && a.dtype != DType::undefined && b.dtype != DType::undefined) {
    return fmt::format("{} and {}", name(a.dtype), name(b.dtype));
  }
  if (a.shape && b.shape) {
    if (auto reason = shape_conflict(*a.shape, *b.shape)) return reason;
  }
  if (a.element && b.element) return conflict(*a.element, *b.element);
  return std::nullopt;
}

Type merge(const Type& a, const Type& b) {
  if (!a.known()) return b;
  if (!b.known()) return a;
  Type merged = a;
  if (merged.dtype == DType::undefined) merged.dtype = b.dtype;
  if (!merged.shape) {
    merged.shape = b.shape;
  } else if (b.shape) {
    merged.shape = merge_shapes(*a.shape, *b.shape);
  }
  if (a.element && b.element) {
    merged.element = std::make_shared<const Type>(merge(*a.element, *b.element));
  } else if (!merged.element) {
    merged.element = b.element;
  }
  return merged;
}

}  // namespace onward
