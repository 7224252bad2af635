#include "recipe/inference_part.h"

namespace onward {

InferencePart inference_part(const Model& model) {
  InferencePart part;
  Model& copy = part.model;
  copy.ir_version = model.ir_version;
  copy.opsets = model.opsets;
  copy.producer_name = model.producer_name;
  copy.producer_version = model.producer_version;
  copy.domain = model.domain;
  copy.doc = model.doc;
  copy.version = model.version;
  copy.metadata = model.metadata;
  copy.device_configurations = model.device_configurations;
  copy.graph->name = model.graph->name;
  copy.graph->doc = model.graph->doc;
  copy.graph->metadata = model.graph->metadata;
  copy.graph->annotations = model.graph->annotations;
  clone_into(*model.graph, *copy.graph, part.map);
  for (Value* output : model.graph->outputs()) copy.graph->add_output(mapped(part.map, output));
  return part;
}

}  // namespace onward
