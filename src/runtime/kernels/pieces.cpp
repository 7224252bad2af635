// Tensors put together along an axis, and cut along it. To both, a tensor is a list of runs: what
// lies one after the other for one position of the dimensions before the axis.

#include <algorithm>
#include <cstring>

#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

constexpr double kByteCost = 0.05, kRunCost = 5;  // nanoseconds

Reason refuses_bits(const Node& node) {
  return bits(node.output(0)->type.dtype) % 8 == 0 ? "" : "elements are smaller than a byte";
}

/// Images stay as they lie: all pieces are asked for in the layout of the first input.
Layout layout_of_pieces(const Site& site) {
  return site.input_dims(0).size() > 2 ? site.layout_of(0) : Layout::plain;
}

/// The bytes of a run, and how many runs there are.
struct PieceRuns {
  int64_t count;
  size_t bytes;
};

PieceRuns runs_of(std::vector<int64_t> dims, const Site& site, Layout layout) {
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = site.node().int_or("axis", 0);
  if (axis < 0) axis += rank;
  dims = laid_out(std::move(dims), layout);
  if (layout == Layout::channels_last) {
    if (axis > 0) axis = axis == 1 ? rank - 1 : axis - 1;
  }
  const auto placed = std::span<const int64_t>(dims);
  const auto elements = checked_element_count(placed.subspan(static_cast<size_t>(axis)));
  return {.count = checked_element_count(placed.first(static_cast<size_t>(axis))),
          .bytes = static_cast<size_t>(elements * bits(site.dtype()) / 8)};
}

/// One of the pieces: its slot, the bytes of its runs, and where these begin in those of the whole.
struct Piece {
  SlotIndex slot;
  size_t bytes, offset;
};

/// Adds a piece behind the others.
void add_piece(std::vector<Piece>& pieces, SlotIndex slot, size_t bytes) {
  const size_t offset = pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes;
  pieces.push_back({slot, bytes, offset});
}

/// Calls move(piece, run of the piece, run of the whole) for all runs of all pieces.
template <typename Move>
void for_each_run(const std::vector<Piece>& pieces, const PieceRuns& whole, Move move) {
  const double cost =
      kByteCost * static_cast<double>(whole.bytes) + kRunCost * static_cast<double>(pieces.size());
  parallel_for(whole.count, cost, [&](int64_t first, int64_t last) {
    for (const Piece& piece : pieces) {
      if (piece.bytes == 0) continue;
      for (auto run = static_cast<size_t>(first); run < static_cast<size_t>(last); ++run) {
        move(piece, run * piece.bytes, run * whole.bytes + piece.offset);
      }
    }
  });
}

void make_concat(Site& site) {
  const Layout layout = layout_of_pieces(site);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < site.node().inputs().size(); ++i) {
    add_piece(pieces, site.input(i, layout), runs_of(site.input_dims(i), site, layout).bytes);
  }
  const PieceRuns whole = runs_of(site.output_dims(0), site, layout);
  const SlotIndex y = site.output(0, layout);
  site.action([=](const Run& run) {
    for_each_run(pieces, whole, [&](const Piece& piece, size_t from, size_t to) {
      std::memcpy(run.at<std::byte>(y) + to, run.at<std::byte>(piece.slot) + from, piece.bytes);
    });
  });
}

void make_split(Site& site) {
  const Layout layout = layout_of_pieces(site);
  const PieceRuns whole = runs_of(site.input_dims(0), site, layout);
  const SlotIndex x = site.input(0, layout);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < site.node().outputs().size(); ++i) {
    add_piece(pieces, site.output(i, layout), runs_of(site.output_dims(i), site, layout).bytes);
  }
  site.action([=](const Run& run) {
    for_each_run(pieces, whole, [&](const Piece& piece, size_t to, size_t from) {
      std::memcpy(run.at<std::byte>(piece.slot) + to, run.at<std::byte>(x) + from, piece.bytes);
    });
  });
}

Reason refuses_split(const Node& node) {
  const bool all = std::ranges::all_of(node.outputs(), [](const auto& o) { return o != nullptr; });
  return all ? refuses_bits(node) : "an output is left out";
}

constexpr KernelChoice kPieceChoices[] = {
    {"Concat", "runs", refuses_bits, make_concat},
    {"Split", "runs", refuses_split, make_split},
};

}  // namespace

std::span<const KernelChoice> piece_choices() { return kPieceChoices; }

}  // namespace onward
