#pragma once

#include "emit/dialect.h"

namespace onward::emit {

// layers.cpp
Layer keras_layer(const Pattern& pattern, const TrainingFacts& training, SourceContext& context);
// module_writer.cpp
std::string keras_class(const SourceParts& parts, const std::string& name);

namespace keras {

// example.cpp
std::optional<std::string> example(const SourceParts& parts);
// load_and_save.cpp
std::string load_and_save(const SourceParts& parts, const std::string& name);
std::string load_and_save_job(const SourceParts& parts, const std::string& name,
                              const LossText& loss, const OptimizerText& optimizer);
// loss.cpp
LossText loss(const Job& job, SourceContext& context);
// optimizer.cpp
OptimizerText optimizer(const Job& job);

const Dialect& dialect();

}  // namespace keras
}  // namespace onward::emit
