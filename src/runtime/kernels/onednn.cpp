#include "runtime/kernels/onednn.h"

namespace onward {

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  static dnnl::stream stream(onednn_engine());
  return stream;
}

dnnl::memory::desc plain_desc(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0; step *= dims[d]) strides[d] = step;
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc channels_last_desc(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  strides[1] = 1;
  int64_t step = dims[1];
  for (size_t d = dims.size(); d-- > 2; step *= dims[d]) strides[d] = step;
  strides[0] = step;
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc any_desc(const std::vector<int64_t>& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

void execute(const dnnl::primitive& primitive, std::initializer_list<dnnl_exec_arg_t> arguments) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), onednn_stream().get(),
                             static_cast<int>(arguments.size()), arguments.begin()),
      "could not execute a primitive");
}

}  // namespace onward
