#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/time_spent.h"
#include "train/metrics.h"
#include "train/report.h"
#include "train/report_chart.h"

namespace onward {

/// An example whose class was predicted wrongly.
struct ShownExample {
  std::string name;                                         // "cats/tom.jpg", "row 12"
  std::string picture;                                      // an address; empty where there is none
  std::vector<std::pair<std::string, std::string>> fields;  // of a table, by column
  std::string truth, predicted;                             // classes
  double probability = 0, of_truth = 0;                     // of the two
  double loss = 0;
};

/// What a report shows; what is empty is left out.
struct ReportPage {
  enum class Status : uint8_t { running, done, stopped, interrupted, failed };
  struct Fact {
    std::string name, value;
  };
  struct Option {
    std::string name, value;
    bool given = false;  // or else the default
  };
  struct Epoch {
    uint64_t epoch = 0, step = 0;
    NamedValues training, evaluation;  // by name; the latter empty where there was none
    int64_t examples = 0;
    double seconds = 0;  // of its steps
    double evaluation_seconds = 0;
  };
  struct Times {
    int64_t examples = 0;
    double training = 0, evaluation = 0;  // seconds
    uint64_t peak_bytes = 0;
  };

  std::string title;
  Status status = Status::running;
  std::string message;                                   // why it ended, or how it goes on
  std::vector<Fact> facts;                               // of the model and its data
  std::vector<Option> options;                           // of the command
  std::vector<Fact> highlights;                          // shown large
  std::vector<std::pair<std::string, int64_t>> classes;  // with the number of their examples
  std::vector<Chart> charts;
  std::vector<Epoch> epochs;
  std::optional<Summary> evaluation;  // the last one
  std::vector<ShownExample> wrong;    // the worst first
  int64_t wrong_count = 0;            // of all
  Times times;
  std::vector<KernelTime> kernels;
};

/// The page as one file that asks for no other.
std::string to_html(const ReportPage& page);

// Its parts, each a section, or empty where there is nothing to show.
std::string epochs_section(const ReportPage& page);
std::string confusion_section(const ReportPage& page);
std::string wrong_section(const ReportPage& page);
std::string times_section(const ReportPage& page);

/// The head of a column of texts, or of numbers.
std::string text_head(const std::string& name);
std::string number_head(const std::string& name);
/// "12.3 s", "4 min 05 s".
std::string duration_text(double seconds);
/// "1.2 GB".
std::string bytes_text(double bytes);
/// "98.50 %", or 4 digits: as the metric of that name is read.
std::string value_text(const std::string& name, double value);

}  // namespace onward
