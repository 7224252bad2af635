#include "recipe/transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/class_names.h"
#include "recipe/free_batch.h"
#include "recipe/head_graph.h"
#include "recipe/loss.h"
#include "recipe/loss_def.h"
#include "recipe/parameter_roles.h"

namespace onward {
namespace {

void refuse_contradictions(const Recipe& recipe) {
  if (recipe.classes && recipe.head) {
    throw Error("--classes starts the classifier anew, --head replaces it: give one of them");
  }
  if (recipe.head_seed != 0 && !recipe.classes) {
    throw Error("--head-seed has no effect without --classes, which starts the classifier anew");
  }
}

int64_t class_axis_of(const Recipe& recipe, const Value& output) {
  const int64_t axis = recipe.class_axis;
  return axis < 0 ? axis + rank(&output).value_or(0) : axis;
}

/// How many classes an output has scores for, where that is known.
std::optional<int64_t> classes_of(const Recipe& recipe, const Value& output) {
  const auto dimensions = rank(&output);
  const int64_t axis = class_axis_of(recipe, output);
  if (!dimensions || axis < 0 || axis >= *dimensions) return std::nullopt;
  return (*output.type.shape)[static_cast<size_t>(axis)].value;
}

ValueSet tensors_of(const Classifier& classifier) {
  ValueSet tensors;
  for (const auto& each : {std::optional(classifier.weight), classifier.bias}) {
    if (!each) continue;
    Value* tensor = moved_tensor(each->value());
    if (!tensor) {
      throw Error(fmt::format("'{}', which {} '{}' reads, is computed: it can't be trained",
                              each->value()->name(), each->reader->op, each->reader->label()));
    }
    tensors.insert(tensor);
  }
  return tensors;
}

void change_head(Model& model, std::optional<Model> head, Transfer& transfer,
                 std::vector<std::string>& notes) {
  Recipe& recipe = transfer.recipe;
  if (!recipe.classes && !head && !recipe.freeze_backbone) return;
  const auto outputs = model.graph->outputs();
  Value* output = head && outputs.size() == 1 ? outputs[0] : find_output(model, recipe.output);
  const auto place = static_cast<size_t>(std::ranges::find(outputs, output) - outputs.begin());
  const Classifier classifier = find_classifier(output, class_axis_of(recipe, *output));
  if (!recipe.classes && !head) {
    transfer.head = tensors_of(classifier);
    return;
  }
  const bool has_one_output = head && head->graph->outputs().size() == 1;
  NewHead changed =
      head ? replace_head(model, classifier, place, std::move(*head))
           : set_classes(model, classifier, {.count = *recipe.classes, .seed = recipe.head_seed});
  transfer.head.insert(changed.tensors.begin(), changed.tensors.end());
  std::ranges::move(changed.notes, std::back_inserter(notes));
  if (recipe.head && recipe.loss == kCustomLoss) {
    recipe.output.clear();
  } else if (has_one_output) {
    recipe.output = model.graph->outputs()[place]->name();
  }
}

void keep_names(Model& model, const Recipe& recipe, std::vector<std::string>& notes) {
  if (recipe.labels.empty()) {
    if ((recipe.classes || recipe.head) && drop_class_names(model)) {
      notes.emplace_back(
          "the names of the earlier classes are dropped: name the new ones with "
          "--labels, or train on a folder that has them");
    }
    return;
  }
  const LossDef* loss = find_loss(recipe.loss);
  auto classes = classes_of(recipe, *find_output(model, recipe.output));
  // The score of one of two classes.
  if (classes == 1 && recipe.labels.size() == 2 && loss && !loss->has_classes()) classes = 2;
  keep_class_names(model, recipe.labels, classes);
  if (!classes) {
    notes.emplace_back(
        "the model does not tell for how many classes it has scores, so that the "
        "names of classes could not be compared with it");
  }
}

}  // namespace

Transfer transfer(Model& model, const Recipe& recipe, std::optional<Model> head,
                  std::vector<std::string>& notes) {
  refuse_contradictions(recipe);
  Transfer result{.recipe = recipe};
  change_head(model, std::move(head), result, notes);
  if (!recipe.keep_batch) {
    if (std::string note = free_batch(model); !note.empty()) notes.push_back(std::move(note));
  }
  keep_names(model, result.recipe, notes);
  return result;
}

}  // namespace onward
