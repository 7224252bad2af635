// Tensors of strings, and what is counted in them.

#include "eval/families.h"
#include "eval/letter_case.h"
#include "eval/ngrams.h"
#include "infer/regex.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;
using Texts = std::vector<std::string>;

Tensors string_concat(const Context& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const std::vector<int64_t> dims = broadcast_shape(a.dims(), b.dims());
  const auto from_a = broadcast_indices(a.dims(), dims), from_b = broadcast_indices(b.dims(), dims);
  Texts joined;
  for (size_t i = 0; i < from_a.size(); ++i) {
    joined.push_back(a.strings()[static_cast<size_t>(from_a[i])] +
                     b.strings()[static_cast<size_t>(from_b[i])]);
  }
  return {Tensor::of_strings(dims, std::move(joined))};
}

Tensors regex_full_match(const Context& c) {
  const Regex pattern(c.node().string_or("pattern", ""));
  Array<uint8_t> matched(c.input(0).dims());
  for (int64_t i = 0; i < matched.size(); ++i) {
    const bool is_match = pattern.matches_all_of(c.input(0).strings()[static_cast<size_t>(i)]);
    matched[i] = is_match ? 1 : 0;
  }
  return {to_tensor(matched, DType::boolean)};
}

constexpr std::string_view kSpaces = " \t\n\v\f\r";

/// The parts of a text between runs of white space; at most `most` of them but for the rest.
Texts split_at_spaces(const std::string& text, int64_t most) {
  Texts parts;
  size_t begin = text.find_first_not_of(kSpaces);
  while (begin != std::string::npos) {
    const size_t end = text.find_first_of(kSpaces, begin);
    if (end == std::string::npos || static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text.substr(begin));
      break;
    }
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpaces, end);
  }
  return parts;
}

Texts split_at(const std::string& text, const std::string& delimiter, int64_t most) {
  Texts parts;
  size_t begin = 0;
  while (static_cast<int64_t>(parts.size()) != most) {
    const size_t end = text.find(delimiter, begin);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// All parts of each text in a row, which is filled up with empty ones, and how many there are.
Tensors string_split(const Context& c) {
  const std::string delimiter = c.node().string_or("delimiter", "");
  const int64_t most = std::max<int64_t>(c.node().int_or("maxsplit", -1), -1);
  std::vector<Texts> rows;
  std::vector<int64_t> counts;
  size_t longest = 0;
  for (const std::string& text : c.input(0).strings()) {
    rows.push_back(delimiter.empty() ? split_at_spaces(text, most)
                                     : split_at(text, delimiter, most));
    counts.push_back(static_cast<int64_t>(rows.back().size()));
    longest = std::max(longest, rows.back().size());
  }
  std::vector<int64_t> dims = c.input(0).dims();
  Tensor counted = Tensor::of<int64_t>(dims, counts);
  dims.push_back(static_cast<int64_t>(longest));
  checked_list_size(dims, sizeof(std::string));
  Texts all;
  for (Texts& row : rows) {
    row.resize(longest);
    all.insert(all.end(), row.begin(), row.end());
  }
  return {Tensor::of_strings(std::move(dims), std::move(all)), std::move(counted)};
}

/// Leaves out elements that are stop words, then changes the case of the others' letters.
Tensors string_normalizer(const Context& c) {
  const LetterCase action = letter_case(c.node().string_or("case_change_action", "NONE"));
  const bool is_case_sensitive = c.node().int_or("is_case_sensitive", 0) != 0;
  const auto* stopwords = c.node().get<Texts>("stopwords");
  const auto comparable = [&](const std::string& text) {
    return is_case_sensitive ? text : in_case(text, LetterCase::lower);
  };
  Texts unwanted, kept;
  if (stopwords) {
    for (const std::string& word : *stopwords) unwanted.push_back(comparable(word));
  }
  for (const std::string& text : c.input(0).strings()) {
    if (!unwanted.empty() && std::ranges::count(unwanted, comparable(text)) > 0) continue;
    kept.push_back(in_case(text, action));
  }
  if (kept.empty()) kept.emplace_back();  // an empty text, where nothing is left
  std::vector<int64_t> dims = c.input(0).dims();
  dims.back() = static_cast<int64_t>(kept.size());
  return {Tensor::of_strings(std::move(dims), std::move(kept))};
}

Tensors tf_idf_vectorizer(const Context& c) { return {count_ngrams(c.node(), c.input(0))}; }

constexpr KernelDef kTextKernels[] = {
    {"RegexFullMatch", regex_full_match},    {"StringConcat", string_concat},
    {"StringNormalizer", string_normalizer}, {"StringSplit", string_split},
    {"TfIdfVectorizer", tf_idf_vectorizer},
};

}  // namespace

std::span<const KernelDef> text_kernels() { return kTextKernels; }

}  // namespace onward::eval
