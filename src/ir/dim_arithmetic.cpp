#include "ir/dim_arithmetic.h"

#include <algorithm>
#include <optional>

namespace onward {
namespace {

bool is(const Dim& element, int64_t number) { return element.value == number; }

/// -1, 0 or 1 as `a` is less than, equal to or greater than `b`.
std::optional<int> compare(const Dim& a, const Dim& b) {
  if (same(a, b)) return 0;
  if (a.value && b.value) return *a.value < *b.value ? -1 : 1;
  if (!a.symbol.empty() && b.value && *b.value < 0) return 1;
  if (!b.symbol.empty() && a.value && *a.value < 0) return -1;
  return std::nullopt;
}

Dim truth(std::optional<bool> known) { return known ? Dim::known(*known ? 1 : 0) : Dim{}; }

}  // namespace

bool same(const Dim& a, const Dim& b) { return a == b && (a.value || !a.symbol.empty()); }

Dim add(const Dim& a, const Dim& b) {
  if (is(b, 0)) return a;
  if (is(a, 0)) return b;
  int64_t sum = 0;
  if (!a.value || !b.value || __builtin_add_overflow(*a.value, *b.value, &sum)) return {};
  return Dim::known(sum);
}

Dim subtract(const Dim& a, const Dim& b) {
  if (is(b, 0)) return a;
  if (same(a, b)) return Dim::known(0);
  int64_t difference = 0;
  if (!a.value || !b.value || __builtin_sub_overflow(*a.value, *b.value, &difference)) return {};
  return Dim::known(difference);
}

Dim multiply(const Dim& a, const Dim& b) {
  if (is(a, 0) || is(b, 0)) return Dim::known(0);
  if (is(b, 1)) return a;
  if (is(a, 1)) return b;
  int64_t product = 0;
  if (!a.value || !b.value || __builtin_mul_overflow(*a.value, *b.value, &product)) return {};
  return Dim::known(product);
}

Dim divide(const Dim& a, const Dim& b) {
  if (is(b, 1)) return a;
  if (!a.value || !b.value || *b.value == 0) return {};
  if (*b.value == -1) return subtract(Dim::known(0), a);
  return Dim::known(*a.value / *b.value);
}

Dim smaller(const Dim& a, const Dim& b) {
  if (same(a, b)) return a;
  return a.value && b.value ? Dim::known(std::min(*a.value, *b.value)) : Dim{};
}

Dim larger(const Dim& a, const Dim& b) {
  if (same(a, b)) return a;
  return a.value && b.value ? Dim::known(std::max(*a.value, *b.value)) : Dim{};
}

Dim is_equal(const Dim& a, const Dim& b) {
  const auto order = compare(a, b);
  return truth(order ? std::optional(*order == 0) : std::nullopt);
}

Dim is_less(const Dim& a, const Dim& b) {
  const auto order = compare(a, b);
  return truth(order ? std::optional(*order < 0) : std::nullopt);
}

Dim is_greater(const Dim& a, const Dim& b) { return is_less(b, a); }
Dim is_at_most(const Dim& a, const Dim& b) { return subtract(Dim::known(1), is_less(b, a)); }
Dim is_at_least(const Dim& a, const Dim& b) { return is_at_most(b, a); }

}  // namespace onward
