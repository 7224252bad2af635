#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "train/report.h"
#include "train/report_page.h"

namespace onward {

struct HtmlReport {
  std::filesystem::path file;
  /// What is known before the training: title, facts, options.
  ReportPage page;
  /// Goes on with the curves and epochs of the page that is there, where the training resumes.
  bool resumes = false;
  /// Adds what is known when the page is written: kernels, the wrong examples.
  std::function<void(ReportPage&)> complete = [](ReportPage&) {};
};

/// Writes a page after each epoch, at most once a second, and whatever ends the training. What
/// can't be written is said once, and ends no training.
std::unique_ptr<Report> html_report(HtmlReport report);

/// Writes the page so that it appears whole or not at all.
void write_page(const std::filesystem::path& file, const ReportPage& page);

/// The most memory that the process has had.
uint64_t peak_memory();

}  // namespace onward
