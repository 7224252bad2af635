#include "runtime/libraries.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <oneapi/dnnl/dnnl.h>
#include <onnx/common/version.h>

// Of blis.h, which needs a header of OpenMP that not every compiler has.
extern "C" char* bli_info_get_version_str(void);

namespace onward {

std::vector<Component> libraries() {
  const dnnl_version_t& dnnl = *dnnl_version();
  constexpr int kMajor = GOOGLE_PROTOBUF_VERSION / 1'000'000;
  constexpr int kMinor = GOOGLE_PROTOBUF_VERSION / 1'000 % 1'000;
  return {{"ONNX", ONNX_VERSION_STRING},
          {"protobuf", fmt::format("{}.{}.{}", kMajor, kMinor, GOOGLE_PROTOBUF_VERSION % 1'000)},
          {"oneDNN", fmt::format("{}.{}.{}", dnnl.major, dnnl.minor, dnnl.patch)},
          {"BLIS", bli_info_get_version_str()}};
}

std::vector<std::string> processor_features() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) found.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) found.emplace_back("avx512f");
#endif
  return found;
}

}  // namespace onward
