#include "train/loop_state.h"

#include <nlohmann/json.hpp>

#include "onward/error.h"

namespace onward {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json to_json(const MetricTotals& totals) {
  Json losses = Json::array();
  for (const MetricTotals::Loss& loss : totals.losses) {
    losses.push_back(
        {{"name", loss.name}, {"info", loss.info}, {"sum", loss.sum}, {"examples", loss.examples}});
  }
  return {{"losses", losses}, {"right", totals.right}, {"judged", totals.judged}};
}

MetricTotals totals_from_json(const Json& json) {
  MetricTotals totals;
  for (const Json& loss : json.at("losses")) {
    totals.losses.push_back({.name = loss.at("name").get<std::string>(),
                             .info = loss.at("info").get<size_t>(),
                             .sum = loss.at("sum").get<double>(),
                             .examples = loss.at("examples").get<int64_t>()});
  }
  totals.right = json.at("right").get<int64_t>();
  totals.judged = json.at("judged").get<int64_t>();
  return totals;
}

}  // namespace

std::string to_json(const LoopState& state) {
  Json json = {{"version", kVersion},          {"seed", state.seed},
               {"batch", state.batch},         {"accumulate", state.accumulate},
               {"drop_last", state.drop_last}, {"infos", state.infos},
               {"data", state.data},           {"threads", state.threads},
               {"epoch", state.epoch},         {"position", state.position},
               {"step", state.step},           {"totals", to_json(state.totals)}};
  if (state.model) json["model"] = *state.model;
  if (state.arrays) json["arrays"] = *state.arrays;
  if (state.tensors) json["tensors"] = *state.tensors;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

LoopState loop_state_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kVersion) throw Error("another version of Onward wrote it");
    LoopState state{.seed = json.at("seed").get<uint64_t>(),
                    .batch = json.at("batch").get<int64_t>(),
                    .accumulate = json.at("accumulate").get<int64_t>(),
                    .drop_last = json.at("drop_last").get<bool>(),
                    .infos = json.at("infos").get<std::vector<size_t>>(),
                    .data = json.at("data").get<uint64_t>(),
                    .threads = json.at("threads").get<int>(),
                    .epoch = json.at("epoch").get<uint64_t>(),
                    .position = json.at("position").get<int64_t>(),
                    .step = json.at("step").get<uint64_t>(),
                    .totals = totals_from_json(json.at("totals"))};
    if (state.batch < 1 || state.accumulate < 1 || state.position < 0 || state.threads < 0) {
      throw Error("its numbers make no sense");
    }
    const auto read = [&]<typename T>(const char* key, std::optional<T>& to) {
      if (json.contains(key)) to = json.at(key).get<T>();
    };
    read("model", state.model);
    read("arrays", state.arrays);
    read("tensors", state.tensors);
    return state;
  } catch (const Json::exception& failure) {
    throw Error(std::string("its record of the training is damaged: ") + failure.what());
  }
}

}  // namespace onward
