#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "train/report.h"

namespace onward {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// A program that reads us wants each line when it is written, not when a buffer is full.
void print(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

Json at(const char* event, const Moment& moment) {
  return {{"event", event}, {"epoch", moment.epoch}, {"step", moment.step}};
}

class JsonReport : public Report {
 public:
  void begin(const Job& job) override {
    begin_ = Clock::now();
    Json json = {{"event", "begin"},
                 {"examples", job.examples},
                 {"steps_per_epoch", job.steps_per_epoch},
                 {"epochs", job.epochs},
                 {"steps", job.steps},
                 {"first_step", job.first_step}};
    for (const auto& [name, count] : job.classes) json["classes"][name] = count;
    if (const auto& frozen = job.frozen) {
      json["frozen"] = {{"nodes", frozen->nodes},
                        {"of", frozen->all_nodes},
                        {"bytes", frozen->bytes},
                        {"kept", frozen->kept}};
    }
    print(json);
  }

  void step(const Moment& moment, const Summary& step, const Summary& /*epoch*/) override {
    Json json = at("step", moment);
    json["examples"] = moment.examples;
    json.update(to_json(step));
    json["seconds"] = std::chrono::duration<double>(Clock::now() - begin_).count();
    print(json);
  }

  void evaluating(int64_t /*done*/, int64_t /*examples*/) override {}

  void epoch(const Moment& moment, const Summary& training,
             const std::optional<Summary>& evaluation) override {
    Json json = at("epoch", moment);
    json.update(to_json(training));
    if (evaluation) json["evaluation"] = to_json(*evaluation);
    print(json);
  }

  void checkpoint(const Moment& moment, const std::filesystem::path& file) override {
    Json json = at("checkpoint", moment);
    json["file"] = file.string();
    print(json);
  }

  void interrupted(const Moment& moment, const std::string& how_to_resume) override {
    Json json = at("interrupted", moment);
    json["resume"] = how_to_resume;
    print(json);
  }

  void best(const Moment& moment, const std::filesystem::path& file) override {
    Json json = at("best", moment);
    json["file"] = file.string();
    print(json);
  }

  void stopped(const Moment& moment, const std::string& reason) override {
    Json json = at("stopped", moment);
    json["reason"] = reason;
    print(json);
  }

  void done(const Moment& moment, const std::filesystem::path& file) override {
    Json json = at("done", moment);
    json["file"] = file.string();
    print(json);
  }

 private:
  Clock::time_point begin_;
};

}  // namespace

nlohmann::ordered_json to_json(const Summary& summary) {
  Json losses = Json::object();
  for (const auto& [name, value] : summary.losses) losses[name] = value;
  Json json;
  if (summary.losses.size() == 1) json["loss"] = summary.losses[0].second;
  json["losses"] = losses;
  if (summary.accuracy) json["accuracy"] = *summary.accuracy;
  for (const auto& [name, value] : summary.metrics) json["metrics"][name] = value;
  for (const auto& [name, why_not] : summary.missing) {
    json["metrics"][name] = nullptr;
    json["missing"][name] = why_not;
  }
  if (summary.confusion) json["confusion"] = rows_of(*summary.confusion);
  return json;
}

std::unique_ptr<Report> json_report() { return std::make_unique<JsonReport>(); }

}  // namespace onward
