#include "train/loop_state.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "onward/error.h"
#include "runtime/conv_method.h"

namespace onward {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

/// JSON has no infinity, which a sum of squares may be.
Json number_json(double number) {
  return std::isfinite(number) ? Json(number) : Json(fmt::format("{}", number));
}

double number_from(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr)
                          : json.get<double>();
}

/// Accuracy has two counts of its own, as it had before there were other metrics.
bool is_plain_accuracy(const Mean& mean) {
  return mean.name == kAccuracy && mean.why_not == WhyNot::none;
}

Json to_json(const MetricTotals& totals) {
  Json losses = Json::array();
  for (const MetricTotals::Loss& loss : totals.losses) {
    losses.push_back(
        {{"name", loss.name}, {"info", loss.info}, {"sum", loss.sum}, {"examples", loss.examples}});
  }
  Json json = {{"losses", losses}, {"right", 0}, {"judged", 0}};
  for (const Mean& mean : totals.means) {
    if (is_plain_accuracy(mean)) {
      json["right"] = static_cast<int64_t>(mean.sum.value());
      json["judged"] = mean.count;
      continue;
    }
    json["means"].push_back({{"name", mean.name},
                             {"sum", number_json(mean.sum.sum)},
                             {"rest", number_json(mean.sum.rest)},
                             {"count", mean.count},
                             {"why_not", static_cast<int>(mean.why_not)}});
  }
  return json;
}

MetricTotals totals_from_json(const Json& json) {
  MetricTotals totals;
  for (const Json& loss : json.at("losses")) {
    totals.losses.push_back({.name = loss.at("name").get<std::string>(),
                             .info = loss.at("info").get<size_t>(),
                             .sum = loss.at("sum").get<double>(),
                             .examples = loss.at("examples").get<int64_t>()});
  }
  if (const auto judged = json.at("judged").get<int64_t>(); judged > 0) {
    const auto right = json.at("right").get<int64_t>();
    totals.means.push_back(
        {.name = kAccuracy, .sum = {.sum = static_cast<double>(right)}, .count = judged});
  }
  for (const Json& mean : json.value("means", Json::array())) {
    const int why_not = mean.at("why_not").get<int>();
    if (why_not < 0 || why_not > static_cast<int>(WhyNot::soft_labels)) {
      throw Error(fmt::format("its training record is damaged: 'why_not' is {}", why_not));
    }
    totals.means.push_back(
        {.name = mean.at("name").get<std::string>(),
         .sum = {.sum = number_from(mean.at("sum")), .rest = number_from(mean.at("rest"))},
         .count = mean.at("count").get<int64_t>(),
         .why_not = static_cast<WhyNot>(why_not)});
  }
  return totals;
}

/// A number that is not negative and that T can hold, which get() alone does not ask for.
template <typename T>
T count(const Json& json, const char* key) {
  const Json& number = json.at(key);
  if (!number.is_number_unsigned() || !std::in_range<T>(number.get<uint64_t>())) {
    throw Error(fmt::format("its training record is damaged: '{}' is {}", key,
                            number.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  return number.get<T>();
}

}  // namespace

int64_t examples_a_step(const LoopState& state) {
  int64_t product = 0;
  if (__builtin_mul_overflow(state.batch, state.accumulate, &product)) {
    throw Error(
        fmt::format("a step of {} batches of {} has more examples than 64 bits count: give a "
                    "smaller --batch-size or --accumulate",
                    state.accumulate, state.batch));
  }
  return product;
}

std::string to_json(const LoopState& state) {
  Json json = {{"version", kVersion},
               {"seed", state.seed},
               {"batch", state.batch},
               {"accumulate", state.accumulate},
               {"drop_last", state.drop_last},
               {"infos", state.infos},
               {"data", state.data},
               {"threads", state.threads},
               {"epoch", state.epoch},
               {"position", state.position},
               {"step", state.step},
               {"totals", to_json(state.totals)},
               {"conv", state.conv}};
  if (state.splits_frozen) json["splits_frozen"] = true;
  if (state.model) json["model"] = *state.model;
  if (state.arrays) json["arrays"] = *state.arrays;
  if (state.settings) json["settings"] = *state.settings;
  if (state.tensors) json["tensors"] = *state.tensors;
  if (!state.options.empty()) json["options"] = state.options;
  if (const auto& best = state.best) {
    json["best"] = {{"value", best->value}, {"epoch", best->epoch}, {"step", best->step}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

LoopState loop_state_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kVersion) throw Error("it was written by another version of Onward");
    LoopState state{.seed = count<uint64_t>(json, "seed"),
                    .batch = count<int64_t>(json, "batch"),
                    .accumulate = count<int64_t>(json, "accumulate"),
                    .drop_last = json.at("drop_last").get<bool>(),
                    .infos = json.at("infos").get<std::vector<size_t>>(),
                    .data = count<uint64_t>(json, "data"),
                    .threads = count<int>(json, "threads"),
                    .epoch = count<uint64_t>(json, "epoch"),
                    .position = count<int64_t>(json, "position"),
                    .step = count<uint64_t>(json, "step"),
                    .totals = totals_from_json(json.at("totals"))};
    if (state.batch < 1 || state.accumulate < 1)
      throw Error("its batch size or accumulation count is less than 1");
    examples_a_step(state);
    const auto read = [&]<typename T>(const char* key, std::optional<T>& to) {
      if (json.contains(key)) to = json.at(key).get<T>();
    };
    if (json.contains("conv")) {
      state.conv = json.at("conv").get<std::string>();
      required_conv_method(state.conv);
    }
    if (json.contains("splits_frozen")) state.splits_frozen = json.at("splits_frozen").get<bool>();
    read("model", state.model);
    read("arrays", state.arrays);
    read("settings", state.settings);
    read("tensors", state.tensors);
    if (json.contains("options")) {
      state.options = json.at("options").get<std::map<std::string, std::string>>();
    }
    if (json.contains("best")) {
      const Json& best = json.at("best");
      state.best = {.value = best.at("value").get<double>(),
                    .epoch = count<uint64_t>(best, "epoch"),
                    .step = count<uint64_t>(best, "step")};
    }
    return state;
  } catch (const Json::exception& failure) {
    throw Error(std::string("its training record is damaged: ") + failure.what());
  }
}

}  // namespace onward
