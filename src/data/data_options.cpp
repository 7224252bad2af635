#include "data/data_options.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "data/base64.h"
#include "onward/error.h"

namespace onward {
namespace {

using OptionsJson = nlohmann::ordered_json;

/// Larger sides are a slip of the pen, and would only run out of memory later.
constexpr int64_t kMaxSide = 1 << 15;

ImageOptions images_from_json(const OptionsJson& json) {
  ImageOptions options;
  if (json.contains("size")) options.size = json.at("size").get<std::array<int64_t, 2>>();
  if (json.contains("resize")) options.resize = json.at("resize").get<int64_t>();
  options.scale = json.at("scale").get<double>();
  options.mean = json.at("mean").get<std::vector<double>>();
  options.std = json.at("std").get<std::vector<double>>();
  require_valid(options);
  return options;
}

std::vector<std::string> classes_from_json(const OptionsJson& json) {
  auto classes = json.get<std::vector<std::string>>();
  if (std::set(classes.begin(), classes.end()).size() != classes.size()) {
    throw Error("two classes have one name");
  }
  return classes;
}

void read_entry(const Model& model, const char* key,
                const std::function<void(const OptionsJson&)>& read) {
  for (const auto& [name, text] : model.metadata) {
    if (name != key) continue;
    try {
      read(OptionsJson::parse(text));
    } catch (const OptionsJson::exception& failure) {
      throw Error(fmt::format("the model's metadata '{}' is damaged: {}", key, failure.what()),
                  ErrorCode::invalid_model);
    } catch (Error& error) {
      throw error.add_context(fmt::format("in the model's metadata '{}'", key));
    }
  }
}

void require_channels(const char* option, const std::vector<double>& numbers) {
  if (numbers.size() != 1 && numbers.size() != 3) {
    throw Error(fmt::format("{} takes one number, or one for each of 3 channels, not {}", option,
                            numbers.size()));
  }
  for (const double number : numbers) {
    if (!std::isfinite(number)) throw Error(fmt::format("{} is {}", option, number));
  }
}

}  // namespace

void require_valid(const ImageOptions& options) {
  require_channels("the mean of images", options.mean);
  require_channels("the std of images", options.std);
  for (const double number : options.std) {
    if (number <= 0) throw Error(fmt::format("the std of images is {}, not positive", number));
  }
  if (!std::isfinite(options.scale) || options.scale == 0) {
    throw Error(fmt::format("the scale of images is {}", options.scale));
  }
  const auto require_side = [](const char* what, int64_t side) {
    if (side >= 1 && side <= kMaxSide) return;
    throw Error(fmt::format("{} is {}: it must be between 1 and {}", what, side, kMaxSide));
  };
  if (options.resize) require_side("the length to resize to", *options.resize);
  if (options.size) {
    for (const int64_t side : *options.size) require_side("a side of the image size", side);
  }
}

DataOptions data_options_of(const Model& model) {
  DataOptions options;
  options.learns = false;
  read_entry(model, kImagesKey,
             [&](const OptionsJson& json) { options.images = images_from_json(json); });
  read_entry(model, kTableKey,
             [&](const OptionsJson& json) { options.schema = schema_from_json(json.dump()); });
  read_entry(model, kClassesKey,
             [&](const OptionsJson& json) { options.classes = classes_from_json(json); });
  for (const auto& [name, text] : model.metadata) {
    if (name != kPreprocessKey) continue;
    try {
      options.preprocess.model = from_base64(text);
    } catch (Error& error) {
      throw error.add_context(fmt::format("in the model's metadata '{}'", kPreprocessKey));
    }
  }
  return options;
}

std::string to_json(const ImageOptions& options) {
  OptionsJson json = OptionsJson::object();
  if (options.size) json["size"] = *options.size;
  if (options.resize) json["resize"] = *options.resize;
  json["scale"] = options.scale;
  json["mean"] = options.mean;
  json["std"] = options.std;
  return json.dump();
}

std::string to_json(const std::vector<std::string>& classes) { return OptionsJson(classes).dump(); }

}  // namespace onward
