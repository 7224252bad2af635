#include "passes/frozen_cut.h"

#include <algorithm>
#include <limits>

namespace onward {
namespace {

constexpr int64_t kNeverCut = std::numeric_limits<int64_t>::max() / 4;

/// A network of pipes in which each vertex is a pipe as wide as its bytes: what flows at most, by
/// Ford and Fulkerson, is as much as the narrowest cut holds.
class Flow {
 public:
  explicit Flow(size_t vertices) : pipes_(2 * vertices + 2) {}

  size_t source() const { return pipes_.size() - 2; }
  size_t sink() const { return pipes_.size() - 1; }
  static size_t before(size_t vertex) { return 2 * vertex; }
  static size_t behind(size_t vertex) { return 2 * vertex + 1; }

  void add(size_t from, size_t to, int64_t width) {
    pipes_[from].push_back({to, width, pipes_[to].size()});
    pipes_[to].push_back({from, 0, pipes_[from].size() - 1});
  }

  /// Fills it; false where no cut holds it.
  bool fill() {
    int64_t all = 0;
    while (const int64_t more = push()) {
      all += more;
      if (all >= kNeverCut) return false;
    }
    return true;
  }

  /// The places from which more could flow to the sink, once it is full.
  std::vector<bool> open_to_sink() const {
    std::vector<bool> open(pipes_.size());
    std::vector<size_t> ends = {sink()};
    open[sink()] = true;
    while (!ends.empty()) {
      const size_t at = ends.back();
      ends.pop_back();
      for (const Pipe& pipe : pipes_[at]) {
        if (open[pipe.to] || pipes_[pipe.to][pipe.reverse].left == 0) continue;
        open[pipe.to] = true;
        ends.push_back(pipe.to);
      }
    }
    return open;
  }

 private:
  struct Pipe {
    size_t to;
    int64_t left;
    size_t reverse;  // its place among those of `to`
  };

  /// Along a shortest way on which there is room.
  int64_t push() {
    std::vector<Pipe*> by(pipes_.size());
    std::vector<size_t> reached = {source()};
    for (size_t i = 0; i < reached.size() && !by[sink()]; ++i) {
      for (Pipe& pipe : pipes_[reached[i]]) {
        if (pipe.left == 0 || by[pipe.to] || pipe.to == source()) continue;
        by[pipe.to] = &pipe;
        reached.push_back(pipe.to);
      }
    }
    if (!by[sink()]) return 0;
    const auto back = [&](const Pipe* pipe) -> Pipe& { return pipes_[pipe->to][pipe->reverse]; };
    int64_t room = kNeverCut;
    for (Pipe* pipe = by[sink()]; pipe; pipe = by[back(pipe).to]) room = std::min(room, pipe->left);
    for (Pipe* pipe = by[sink()]; pipe; pipe = by[back(pipe).to]) {
      pipe->left -= room;
      back(pipe).left += room;
    }
    return room;
  }

  std::vector<std::vector<Pipe>> pipes_;
};

/// The work that follows from each vertex, without its own.
std::vector<double> work_behind(std::span<const CutVertex> vertices) {
  std::vector<std::vector<size_t>> readers(vertices.size());
  for (size_t v = 0; v < vertices.size(); ++v) {
    for (const size_t from : vertices[v].from) readers[from].push_back(v);
  }
  std::vector<double> work(vertices.size(), 0);
  for (size_t v = 0; v < vertices.size(); ++v) {
    std::vector<bool> reached(vertices.size());
    std::vector<size_t> open = {v};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      for (const size_t reader : readers[at]) {
        if (reached[reader]) continue;
        reached[reader] = true;
        work[v] += vertices[reader].multiply_adds;
        open.push_back(reader);
      }
    }
  }
  return work;
}

}  // namespace

std::optional<std::vector<size_t>> smallest_cut(std::span<const CutVertex> vertices) {
  const std::vector<double> behind = work_behind(vertices);
  double all = 0;
  for (const CutVertex& vertex : vertices) all += vertex.multiply_adds;
  Flow flow(vertices.size());
  std::vector<size_t> cut;
  for (size_t v = 0; v < vertices.size(); ++v) {
    const CutVertex& vertex = vertices[v];
    const bool parts = vertex.bytes >= 0 && behind[v] <= kWorkBehindCut * all;
    // A value without elements still has to be named.
    flow.add(Flow::before(v), Flow::behind(v),
             parts ? std::max<int64_t>(vertex.bytes, 1) : kNeverCut);
    if (vertex.begins) flow.add(flow.source(), Flow::before(v), kNeverCut);
    for (const size_t from : vertex.from) flow.add(Flow::behind(from), Flow::before(v), kNeverCut);
    if (vertex.is_needed && !parts && vertex.bytes >= 0) {
      cut.push_back(v);  // kept, and still to be passed on the way to what comes behind it
    } else if (vertex.is_needed) {
      flow.add(Flow::behind(v), flow.sink(), kNeverCut);
    }
  }
  if (!flow.fill()) return std::nullopt;
  const std::vector<bool> open = flow.open_to_sink();
  for (size_t v = 0; v < vertices.size(); ++v) {
    if (open[Flow::behind(v)] && !open[Flow::before(v)]) cut.push_back(v);
  }
  std::ranges::sort(cut);
  return cut;
}

}  // namespace onward
