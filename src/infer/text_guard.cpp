#include "infer/text_guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "infer/operand_checks.h"
#include "infer/regex.h"
#include "ir/utf8.h"

namespace onward {
namespace {

using Integers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

std::optional<Refusal> bad_input(const Operands& o, std::string message) {
  return Refusal{"shape", o.node().input(0)->name(), std::move(message)};
}

size_t length(const Node& node, std::string_view name) {
  const auto* list = node.get<Integers>(name);
  return list ? list->size() : 0;
}

/// Where the n-grams of each length begin: in order, inside of the pool.
std::optional<Refusal> check_pool(const Node& node) {
  const auto* texts = node.get<Texts>("pool_strings");
  if ((texts != nullptr) == (node.get<Integers>("pool_int64s") != nullptr)) {
    return refused_attribute("it takes one of the attributes 'pool_strings' and 'pool_int64s'");
  }
  const size_t pool = texts ? texts->size() : length(node, "pool_int64s");
  int64_t before = 0;
  for (const int64_t begin : *node.get<Integers>("ngram_counts")) {
    if (begin < before || begin > static_cast<int64_t>(pool)) {
      return refused_attribute(fmt::format(
          "attribute 'ngram_counts' holds {}, of a pool of {} from {} on", begin, pool, before));
    }
    before = begin;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> guard_bit_cast(const Operands& o) {
  const Value* x = o.node().input(0);
  const auto to = dtype_from_onnx(o.node().int_or("to", 0));
  if (!x || !to || x->type.dtype == DType::undefined) return std::nullopt;
  const DType from = x->type.dtype;
  if (from == DType::string || *to == DType::string)
    return refused_attribute("strings have no bits to keep");
  if (bits(from) == bits(*to)) return std::nullopt;
  return refused_attribute(
      fmt::format("{} has {} bits, but {} has {}", name(from), bits(from), name(*to), bits(*to)));
}

std::optional<Refusal> guard_multinomial(const Operands& o) {
  if (auto refusal = check_count(o.node(), "sample_size", 1, kLargestCount)) return refusal;
  const auto rank = o.rank(0);
  if (rank && *rank != 2) return bad_input(o, fmt::format("input 0 has rank {}, not 2", *rank));
  if (o.dim(0, 1) == 0) return bad_input(o, "there are no outcomes to choose from");
  return std::nullopt;
}

std::optional<Refusal> guard_ngrams(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_word(node, "mode", {"TF", "IDF", "TFIDF"})) return refusal;
  for (const char* name : {"min_gram_length", "max_gram_length"}) {
    if (auto refusal = check_count(node, name, 1, kLargestCount)) return refusal;
  }
  const int64_t shortest = node.int_or("min_gram_length", 1);
  const int64_t longest = node.int_or("max_gram_length", 1);
  if (longest < shortest) {
    return refused_attribute(fmt::format("n-grams of {} to {} words", shortest, longest));
  }
  if (auto refusal = check_count(node, "max_skip_count", 0, kLargestCount)) return refusal;
  if (auto refusal = check_pool(node)) return refusal;
  const auto& columns = *node.get<Integers>("ngram_indexes");
  if (columns.empty()) return refused_attribute("attribute 'ngram_indexes' is empty");
  if (auto refusal = check_list(node, "ngram_indexes", std::nullopt, 0)) return refusal;
  const int64_t width = *std::ranges::max_element(columns) + 1;
  const auto* weights = node.get<std::vector<float>>("weights");
  if (weights && !weights->empty() && static_cast<int64_t>(weights->size()) != width) {
    return refused_attribute(
        fmt::format("attribute 'weights' has {} entries for {} columns", weights->size(), width));
  }
  const auto rank = o.rank(0);
  if (rank && *rank != 1 && *rank != 2) {
    return bad_input(o, fmt::format("input 0 has rank {}, not 1 or 2", *rank));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_pattern(const Operands& o) {
  const auto* pattern = o.node().get<std::string>("pattern");
  if (!pattern) return refused_attribute("attribute 'pattern' is missing");
  const auto problem = regex_problem(*pattern);
  if (!problem) return std::nullopt;
  return refused_attribute(
      fmt::format("attribute 'pattern' is '{}', which is no pattern in RE2's syntax: {}",
                  printable(*pattern), printable(*problem)));
}

std::optional<Refusal> guard_string_normalizer(const Operands& o) {
  if (auto refusal = check_word(o.node(), "case_change_action", {"NONE", "LOWER", "UPPER"})) {
    return refusal;
  }
  // Where an i without a dot is the small form of I, letters change otherwise than here.
  const std::string locale = o.node().string_or("locale", "en_US");
  for (const char* language : {"tr", "az", "lt"}) {
    if (locale.starts_with(language)) {
      return refused_attribute(
          fmt::format("letters change their case otherwise in the locale '{}'", locale));
    }
  }
  const auto rank = o.rank(0);
  const auto rows = rank == 2 ? o.dim(0, 0) : std::optional<int64_t>(1);
  if ((rank && *rank != 1 && *rank != 2) || (rows && *rows != 1)) {
    return bad_input(o, "input 0 has several rows: it takes [C] and [1, C]");
  }
  return std::nullopt;
}

}  // namespace onward
