#pragma once

#include <filesystem>
#include <optional>

#include "train/report_page.h"

namespace onward {

/// Curves by the names of what they show, in the order in which these came up.
using NamedCurves = std::vector<std::pair<std::string, Curve>>;

/// The curve of that name, new where there is none.
Curve& curve(NamedCurves& curves, const std::string& name);

/// What a page holds of the training up to a step, and of that many complete epochs.
struct ReportHistory {
  NamedCurves steps;
  std::vector<ReportPage::Epoch> epochs;
};

/// Reads it from the page that the program wrote; nothing where there is no such file.
std::optional<ReportHistory> read_history(const std::filesystem::path& file, uint64_t step,
                                          uint64_t epoch);

}  // namespace onward
