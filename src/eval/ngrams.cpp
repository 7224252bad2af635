#include "eval/ngrams.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "eval/array.h"

namespace onward::eval {
namespace {

using Integers = std::vector<int64_t>;

template <typename T>
const std::vector<T>& required(const Node& node, std::string_view name) {
  static const std::vector<T> none;
  const auto* found = node.get<std::vector<T>>(name);
  return found ? *found : none;
}

/// The n-grams of a pool, by their words. A word is an integer, or the number of a text in `words`.
class Pool {
 public:
  Pool(const Node& node, const Integers& words) {
    const auto& begins = required<int64_t>(node, "ngram_counts");
    const auto& columns = required<int64_t>(node, "ngram_indexes");
    const int64_t shortest = node.int_or("min_gram_length", 1);
    const int64_t longest = node.int_or("max_gram_length", 1);
    size_t gram = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      const auto length = static_cast<int64_t>(i + 1);
      const int64_t end =
          i + 1 < begins.size() ? begins[i + 1] : static_cast<int64_t>(words.size());
      for (int64_t at = begins[i]; at + length <= end; at += length, ++gram) {
        if (length < shortest || length > longest) continue;
        if (gram >= columns.size()) {
          throw Error(fmt::format("its pool has more n-grams than the {} of 'ngram_indexes'",
                                  columns.size()));
        }
        const auto first = words.begin() + at;
        for (int64_t part = 1; part < length; ++part) grams_.try_emplace({first, first + part}, -1);
        grams_[{first, first + length}] = columns[gram];
      }
    }
  }

  /// The column of an n-gram; -1 where it only begins one, nothing where it does not.
  std::optional<int64_t> find(const Integers& gram) const {
    const auto found = grams_.find(gram);
    return found == grams_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<Integers, int64_t> grams_;
};

/// Texts as numbers: those of the pool from 0 on, all others -1.
Integers numbered(std::span<const std::string> texts, const std::map<std::string, int64_t>& known) {
  Integers numbers;
  for (const std::string& text : texts) {
    const auto found = known.find(text);
    numbers.push_back(found == known.end() ? -1 : found->second);
  }
  return numbers;
}

/// How often each column's n-gram is in a row, with up to `max_skip_count` words left out between
/// neighbours. Single words count once, however many are skipped.
std::vector<int64_t> counted(const Node& node, const Pool& pool, std::span<const int64_t> row,
                             int64_t columns) {
  std::vector<int64_t> counts(static_cast<size_t>(columns));
  const auto length = static_cast<int64_t>(row.size());
  const int64_t longest = node.int_or("max_gram_length", 1);
  int64_t shortest = node.int_or("min_gram_length", 1);
  // A step that is longer than the row finds nothing but single words.
  const int64_t steps =
      std::min(node.int_or("max_skip_count", 0) + 1, std::max<int64_t>(length, 1));
  for (int64_t step = 1; step <= steps && shortest <= longest; ++step) {
    for (int64_t begin = 0; begin < length; ++begin) {
      Integers gram;
      for (int64_t at = begin; at < length && static_cast<int64_t>(gram.size()) < longest;
           at += step) {
        gram.push_back(row[static_cast<size_t>(at)]);
        const auto column = pool.find(gram);
        if (!column) break;
        if (*column >= 0 && static_cast<int64_t>(gram.size()) >= shortest) {
          ++counts[static_cast<size_t>(*column)];
        }
      }
    }
    shortest = std::max<int64_t>(shortest, 2);
  }
  return counts;
}

float weighted(std::string_view mode, int64_t count, float weight) {
  if (mode == "TF") return static_cast<float>(count);
  if (mode == "IDF") return count > 0 ? weight : 0;
  return static_cast<float>(count) * weight;
}

}  // namespace

Tensor count_ngrams(const Node& node, const Tensor& x) {
  Integers pool_words = required<int64_t>(node, "pool_int64s"), words;
  if (const auto* texts = node.get<std::vector<std::string>>("pool_strings")) {
    std::map<std::string, int64_t> known;
    for (const std::string& text : *texts) known.emplace(text, static_cast<int64_t>(known.size()));
    pool_words = numbered(*texts, known);
    words = numbered(x.strings(), known);
  } else {
    words = x.integers();
  }
  const Pool pool(node, pool_words);
  const auto& indexes = required<int64_t>(node, "ngram_indexes");
  const int64_t columns = *std::ranges::max_element(indexes) + 1;
  const auto& weights = required<float>(node, "weights");
  const std::string mode = node.string_or("mode", "TF");

  std::vector<int64_t> dims = x.dims();
  const int64_t length = dims.empty() ? 1 : dims.back();
  if (dims.empty()) dims.push_back(columns);
  dims.back() = columns;
  Array<float> y(dims);
  for (int64_t row = 0; row * columns < y.size(); ++row) {
    const auto found = counted(
        node, pool,
        std::span(words).subspan(static_cast<size_t>(row * length), static_cast<size_t>(length)),
        columns);
    // Weights go by column, as in all runtimes: the standard's text has them by n-gram.
    for (int64_t i = 0; i < columns; ++i) {
      const auto at = static_cast<size_t>(i);
      y[row * columns + i] = weighted(mode, found[at], weights.empty() ? 1 : weights[at]);
    }
  }
  return to_tensor(y, DType::f32);
}

}  // namespace onward::eval
