#pragma once

#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>

#include "runtime/kernel.h"

namespace onward {

/// The one engine, and a stream that runs everything in the calling thread's OpenMP team.
const dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();

/// A plain tensor's description: row-major.
dnnl::memory::desc plain_desc(const std::vector<int64_t>& dims);
/// An image tensor's with channels last; `dims` are those of the standard.
dnnl::memory::desc channels_last_desc(const std::vector<int64_t>& dims);
/// One that leaves the layout to oneDNN.
dnnl::memory::desc any_desc(const std::vector<int64_t>& dims);

/// A description with the slot that holds its bytes when a plan runs.
struct Bound {
  dnnl::memory memory;
  SlotIndex slot = -1;

  Bound() = default;
  Bound(const dnnl::memory::desc& desc, SlotIndex at)
      : memory(desc, onednn_engine(), nullptr), slot(at) {}

  /// Points it to where its bytes are in this run.
  dnnl_memory_t in(const Run& run) {
    memory.set_data_handle(run.at<std::byte>(slot));
    return memory.get();
  }
};

/// Runs a primitive. Unlike oneDNN's own function it takes no map, which would be allocated.
void execute(const dnnl::primitive& primitive, std::initializer_list<dnnl_exec_arg_t> arguments);

}  // namespace onward
