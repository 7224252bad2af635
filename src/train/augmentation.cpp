#include "train/augmentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "data/deflate.h"
#include "format/load.h"
#include "ir/suggestion.h"
#include "onward/error.h"
#include "proto/external_data.h"
#include "proto/mapped_tensors.h"
#include "runtime/parallel.h"
#include "runtime/program.h"
#include "train/step_parts.h"

namespace onward {
namespace {

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t first = 0; first <= text.size();) {
    const size_t end = std::min(text.find(separator, first), text.size());
    parts.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// As ONNX's syntax writes a float.
std::string float_text(double number) {
  std::string text = fmt::format("{}", static_cast<float>(number));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

[[noreturn]] void refuse(const std::string& given, std::string_view usage) {
  throw Error(fmt::format("--augment: '{}' is not of the form {}", given, usage));
}

/// The call of a function with its attributes, and the least side of an image.
struct Call {
  std::string text;
  int64_t least_side = 1;
};

std::vector<Call> flips(const std::string& given, const std::string& how) {
  constexpr const char* kHorizontal = "flip_horizontal <probability = 0.5>";
  constexpr const char* kVertical = "flip_vertical <probability = 0.5>";
  if (how.empty() || how == "horizontal") return {{kHorizontal}};
  if (how == "vertical") return {{kVertical}};
  if (how == "both") return {{kHorizontal}, {kVertical}};
  refuse(given, "flip, flip:vertical or flip:both");
}

std::vector<Call> crops(const std::string& given, const std::string& how) {
  const auto numbers = parts_of(how, '-');
  const auto low = number_of(numbers.front()), high = number_of(numbers.back());
  if (numbers.size() == 2 && low && high && *low > 0 && *low <= *high && *high <= 1) {
    return {{fmt::format("resized_crop <smallest = {}, largest = {}>", float_text(*low),
                         float_text(*high))}};
  }
  const bool is_whole = numbers.size() == 1 && low && *low >= 1 && *low == std::floor(*low);
  if (is_whole && *low < 1e6) {
    return {{fmt::format("padded_crop <padding = {}>", float_text(*low)),
             static_cast<int64_t>(*low) + 1}};
  }
  refuse(given, "crop:0.8-1 (parts of the area) or crop:4 (pixels of padding)");
}

std::vector<Call> jitters(const std::string& given, const std::string& how) {
  auto parts = parts_of(how, '/');
  if (parts.size() == 1) parts.resize(3, parts.front());
  const auto is_amount = [](const std::string& part) {
    const auto number = number_of(part);
    return number && *number >= 0 && *number <= 1;
  };
  if (parts.size() != 3 || !std::ranges::all_of(parts, is_amount)) {
    refuse(given, "jitter:0.2 or jitter:0.2/0.2/0.1 (brightness, contrast, saturation, 0 to 1)");
  }
  const auto amount = [&](size_t i) { return float_text(*number_of(parts[i])); };
  return {{fmt::format("jitter <brightness = {}, contrast = {}, saturation = {}", amount(0),
                       amount(1), amount(2))}};
}

std::vector<Call> rotations(const std::string& given, const std::string& how) {
  const auto degrees = number_of(how);
  if (!degrees || *degrees <= 0 || *degrees > 180) {
    refuse(given, "rotate:10 (degrees in each direction, up to 180)");
  }
  return {{fmt::format("rotate <degrees = {}>", float_text(*degrees))}};
}

struct Kind {
  std::string_view name;
  std::vector<Call> (*calls)(const std::string& given, const std::string& how);
};
constexpr Kind kKinds[] = {
    {"flip", flips}, {"crop", crops}, {"jitter", jitters}, {"rotate", rotations}};

bool is_file(const std::string& text) {
  return text.ends_with(".onnx") || text.ends_with(".onnxtxt");
}

/// The inputs that someone has to give.
std::vector<const Value*> inputs_of(const Graph& graph) {
  std::vector<const Value*> inputs;
  for (const Value* input : graph.inputs()) {
    if (!input->initializer()) inputs.push_back(input);
  }
  return inputs;
}

bool may_be(const Type& type, DType dtype) {
  const bool has_rank = type.is_tensor() && type.shape;
  return type.is_tensor() && type.dtype == dtype && (!has_rank || type.shape->size() == 4);
}

void require_form(const Model& model) {
  const auto inputs = inputs_of(*model.graph);
  const auto& outputs = model.graph->outputs();
  constexpr const char* kForm =
      "an augmentation takes an image f32[1,C,H,W], may take a mask i64[1,1,H,W], and gives the "
      "same";
  if (inputs.empty() || inputs.size() > 2 || outputs.size() != inputs.size()) {
    throw Error(
        fmt::format("it has {} inputs and {} outputs: {}", inputs.size(), outputs.size(), kForm));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = i == 0 ? DType::f32 : DType::i64;
    for (const Value* value : {inputs[i], static_cast<const Value*>(outputs[i])}) {
      const bool is_known = value->type.is_tensor() && value->type.dtype != DType::undefined;
      if ((value == outputs[i] && !is_known) || may_be(value->type, dtype)) continue;
      throw Error(fmt::format("'{}' is {}: {}", value->name(), to_string(value->type), kForm));
    }
  }
}

}  // namespace

/// A stage, ready to be run by one thread at a time.
struct Augmentation::Runner {
  explicit Runner(const Model& model) : state(model), program(graph_alone(model, *model.graph)) {
    for (const Value* input : inputs_of(*model.graph)) inputs.push_back(input->name());
    for (const Value* output : model.graph->outputs()) outputs.push_back(output->name());
  }

  State state;
  Program program;
  std::vector<std::string> inputs, outputs;
};

Augmentation::Augmentation(const std::string& wanted, std::string_view functions)
    : functions_(functions) {
  for (const std::string& each : parts_of(wanted, ',')) add(each);
}

Augmentation::~Augmentation() = default;

void Augmentation::add(const std::string& wanted) {
  if (is_file(wanted)) return add_file(wanted);
  const size_t colon = std::min(wanted.find(':'), wanted.size());
  const std::string name = wanted.substr(0, colon);
  const auto kind = std::ranges::find(kKinds, name, &Kind::name);
  if (kind == std::end(kKinds)) {
    std::vector<std::string_view> names;
    for (const Kind& each : kKinds) names.push_back(each.name);
    throw Error(unknown_name("augmentation", name, names) + ", or a file .onnx");
  }
  const std::string how = colon == wanted.size() ? "" : wanted.substr(colon + 1);
  for (const Call& call : kind->calls(wanted, how)) {
    stages_.push_back({.name = wanted, .call = call.text, .least_side = call.least_side});
  }
}

void Augmentation::add_file(const std::string& file) {
  try {
    Model model = load(file);
    read_mapped(model);
    require_form(model);
    stages_.push_back({.name = file, .model = std::make_shared<const Model>(std::move(model))});
    const MappedFile bytes(file);
    files_ += fmt::format("{}{:08x}", files_.empty() ? "" : ",", crc32_of(bytes.bytes()));
  } catch (Error& error) {
    throw error.add_context(fmt::format("in the augmentation '{}'", file));
  }
}

void Augmentation::require_masks() const {
  for (const Stage& stage : stages_) {
    if (!stage.model || inputs_of(*stage.model->graph).size() == 2) continue;
    throw Error(
        fmt::format("the augmentation '{}' takes no mask, so that masks would no longer fit "
                    "their images: give it a second input and output i64[1,1,H,W]",
                    stage.name));
  }
}

Model Augmentation::model_of(const Stage& stage, const Form& form) const {
  const bool is_jitter = stage.call.starts_with("jitter");
  const char* end = !is_jitter ? "" : form.channels == 1 ? ", gray = [1.0]>" : ">";
  const std::string image = fmt::format("float[1,{},H,W]", form.channels);
  constexpr const char* kMask = "int64[1,1,H,W]";
  return parse_text(
      fmt::format("<ir_version: 10, opset_import: [\"\" : 22, \"augment\" : 1]>\n"
                  "stage ({} image, {} mask) => ({} new_image{}) {{\n"
                  "  new_image, new_mask = augment.{}{} (image, mask)\n}}\n{}",
                  image, kMask, image, form.has_mask ? fmt::format(", {} new_mask", kMask) : "",
                  stage.call, end, functions_));
}

std::unique_ptr<Augmentation::Worker> Augmentation::worker_for(const Form& form) const {
  auto worker = std::make_unique<Worker>();
  for (const Stage& stage : stages_) {
    if (stage.model) {
      worker->emplace_back(*stage.model);
    } else {
      worker->emplace_back(model_of(stage, form));
    }
  }
  return worker;
}

AugmentedImage Augmentation::apply(AugmentedImage image, const AugmentKey& key, uint64_t seed) {
  const std::vector<int64_t> dims = image.image.dims();
  const bool has_mask = image.mask.dtype() != DType::undefined;
  const std::vector<int64_t> mask_dims = {1, 1, dims[2], dims[3]};
  const Threads one(1);  // there is one thread for each image
  const Form form{.channels = dims[1], .has_mask = has_mask};
  Pool<Worker>& colored = has_mask ? colored_masked_ : colored_;
  Pool<Worker>& gray = has_mask ? gray_masked_ : gray_;
  Pool<Worker>& pool = form.channels == 1 ? gray : colored;
  auto worker = pool.take([&] { return worker_for(form); });
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Stage& stage = stages_[i];
    Runner& runner = (*worker)[i];
    if (std::min(dims[2], dims[3]) < stage.least_side) {
      throw Error(fmt::format("--augment {} needs images of at least {} x {} pixels", stage.name,
                              stage.least_side, stage.least_side));
    }
    TensorMap inputs = {{runner.inputs[0], image.image}};
    if (runner.inputs.size() == 2) {
      const auto count = static_cast<size_t>(dims[2] * dims[3]);
      inputs.emplace(
          runner.inputs[1],
          has_mask ? image.mask : Tensor::of<int64_t>(mask_dims, std::vector<int64_t>(count)));
    }
    const TensorMap outputs = runner.program.run(
        inputs, runner.state,
        {.seed = seed, .step = key.epoch, .micro_batch = key.example, .iterations = i + 1});
    const auto take = [&](size_t place, DType dtype, const std::vector<int64_t>& wanted) {
      const Tensor& tensor = outputs.at(runner.outputs[place]);
      if (tensor.dtype() == dtype && tensor.dims() == wanted) return tensor;
      throw Error(fmt::format("'{}' of --augment {} is {}, not {}", runner.outputs[place],
                              stage.name, to_string(tensor.type()),
                              to_string(Type::tensor(dtype, std::span<const int64_t>(wanted)))));
    };
    image.image = take(0, DType::f32, dims);
    if (has_mask && runner.outputs.size() == 2) image.mask = take(1, DType::i64, mask_dims);
  }
  pool.give_back(std::move(worker));
  return image;
}

Augment Augmentation::with_seed(uint64_t seed) {
  return [this, seed](AugmentedImage image, const AugmentKey& key) {
    return apply(std::move(image), key, seed);
  };
}

}  // namespace onward
