// libcublasLt.so.13 and .12: descriptions of matrices and products are kept, the heuristic offers one algorithm, and a
// product becomes a kernel named like the real one. Declared by C ABI, as in cublas_api.cc.
#include <cstring>
#include <map>
#include <string>

#include "tests/simgpu/cublas/gemm.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using simgpu::cublas::kInvalidValue;
using simgpu::cublas::kNotInitialized;
using simgpu::cublas::kSuccess;

// Numbers of attributes in cublasLtMatrixLayoutAttribute_t.
constexpr int kLayoutType = 0, kLayoutRows = 2, kLayoutColumns = 3, kLayoutBatch = 5;
constexpr int kBufferTooSmall = kInvalidValue;

// What every description is here: values by attribute. The struct lies inside the program's opaque one (64 bytes and
// more) when the program makes it in place (cublasLt...Init), so it holds a pointer alone.
struct Description {
  std::map<int, std::string>* values;
};

int MakeIn(void* place) {
  if (place == nullptr) return kInvalidValue;
  static_cast<Description*>(place)->values = new std::map<int, std::string>;
  return kSuccess;
}
int Make(void** description) {
  if (description == nullptr) return kInvalidValue;
  *description = new Description{};
  return MakeIn(*description);
}
int Destroy(void* description) {
  if (description == nullptr) return kSuccess;
  delete static_cast<Description*>(description)->values;
  delete static_cast<Description*>(description);
  return kSuccess;
}
int Set(void* description, int attribute, const void* value, size_t bytes) {
  if (description == nullptr || value == nullptr) return kInvalidValue;
  (*static_cast<Description*>(description)->values)[attribute].assign(static_cast<const char*>(value), bytes);
  return kSuccess;
}
int Get(const void* description, int attribute, void* value, size_t bytes, size_t* written) {
  if (description == nullptr) return kInvalidValue;
  const auto& values = *static_cast<const Description*>(description)->values;
  const auto found = values.find(attribute);
  const std::string known = found == values.end() ? std::string(bytes, '\0') : found->second;
  if (written != nullptr) *written = known.size();
  if (bytes == 0) return kSuccess;
  if (value == nullptr || bytes < known.size()) return kBufferTooSmall;
  std::memcpy(value, known.data(), known.size());
  return kSuccess;
}
template <typename T>
T Value(const void* description, int attribute, T otherwise) {
  T value = otherwise;
  const auto& values = *static_cast<const Description*>(description)->values;
  const auto found = values.find(attribute);
  if (found != values.end() && found->second.size() == sizeof value) {
    std::memcpy(&value, found->second.data(), sizeof value);
  }
  return value;
}

int InitLayout(void* layout, int type, uint64_t rows, uint64_t columns) {
  const auto wide_type = static_cast<uint32_t>(type);
  Set(layout, kLayoutType, &wide_type, sizeof wide_type);
  Set(layout, kLayoutRows, &rows, sizeof rows);
  return Set(layout, kLayoutColumns, &columns, sizeof columns);
}

// cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

int handle_target;

}  // namespace

SIMGPU_EXPORT int cublasLtCreate(void** handle) {
  if (handle == nullptr) return kInvalidValue;
  *handle = &handle_target;
  return kSuccess;
}
SIMGPU_EXPORT int cublasLtDestroy(void*) { return kSuccess; }
SIMGPU_EXPORT size_t cublasLtGetVersion() { return SIMGPU_CUBLAS_VERSION; }
SIMGPU_EXPORT size_t cublasLtGetCudartVersion() { return SIMGPU_CUBLAS_VERSION / 10; }
SIMGPU_EXPORT const char* cublasLtGetStatusString(int status) {
  return status == kSuccess ? "CUBLAS_STATUS_SUCCESS" : "error of the simulated cuBLASLt";
}
SIMGPU_EXPORT const char* cublasLtGetStatusName(int status) { return cublasLtGetStatusString(status); }
SIMGPU_EXPORT int cublasLtLoggerSetLevel(int) { return kSuccess; }

SIMGPU_EXPORT int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t) {
  const int error = Make(layout);
  return error != kSuccess ? error : InitLayout(*layout, type, rows, columns);
}
SIMGPU_EXPORT int cublasLtMatrixLayoutInit_internal(void* layout, size_t, int type, uint64_t rows, uint64_t columns,
                                                    int64_t) {
  const int error = MakeIn(layout);
  return error != kSuccess ? error : InitLayout(layout, type, rows, columns);
}
SIMGPU_EXPORT int cublasLtMatrixLayoutDestroy(void* layout) { return Destroy(layout); }
SIMGPU_EXPORT int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  return Set(layout, attribute, value, bytes);
}
SIMGPU_EXPORT int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, size_t bytes,
                                                   size_t* written) {
  return Get(layout, attribute, value, bytes, written);
}

SIMGPU_EXPORT int cublasLtMatmulDescCreate(void** description, int, int) { return Make(description); }
SIMGPU_EXPORT int cublasLtMatmulDescInit_internal(void* description, size_t, int, int) { return MakeIn(description); }
SIMGPU_EXPORT int cublasLtMatmulDescDestroy(void* description) { return Destroy(description); }
SIMGPU_EXPORT int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value, size_t bytes) {
  return Set(description, attribute, value, bytes);
}
SIMGPU_EXPORT int cublasLtMatmulDescGetAttribute(void* description, int attribute, void* value, size_t bytes,
                                                 size_t* written) {
  return Get(description, attribute, value, bytes, written);
}

SIMGPU_EXPORT int cublasLtMatmulPreferenceCreate(void** preference) { return Make(preference); }
SIMGPU_EXPORT int cublasLtMatmulPreferenceInit_internal(void* preference, size_t) { return MakeIn(preference); }
SIMGPU_EXPORT int cublasLtMatmulPreferenceDestroy(void* preference) { return Destroy(preference); }
SIMGPU_EXPORT int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                                       size_t bytes) {
  return Set(preference, attribute, value, bytes);
}

SIMGPU_EXPORT int cublasLtMatmulAlgoGetHeuristic(void* handle, void*, void*, void*, void*, void*, void*, int wanted,
                                                 HeuristicResult* results, int* found) {
  if (handle == nullptr) return kNotInitialized;
  if (results == nullptr || found == nullptr || wanted < 1) return kInvalidValue;
  results[0] = {};
  results[0].algorithm[0] = 1;
  results[0].waves = 1;
  *found = 1;
  return kSuccess;
}

SIMGPU_EXPORT int cublasLtMatmul(void* handle, void* description, const void*, const void*, const void* layout_a,
                                 const void*, const void*, const void*, const void*, const void*, void*,
                                 const void* layout_d, const void*, void*, size_t, cudaStream_t stream) {
  if (handle == nullptr) return kNotInitialized;
  if (description == nullptr || layout_a == nullptr || layout_d == nullptr) return kInvalidValue;
  const auto type = static_cast<int>(Value<uint32_t>(layout_a, kLayoutType, CUDA_R_16F));
  return simgpu::cublas::LaunchTiles(
      stream, simgpu::cublas::GemmName(type), static_cast<int64_t>(Value<uint64_t>(layout_d, kLayoutRows, 1)),
      static_cast<int64_t>(Value<uint64_t>(layout_d, kLayoutColumns, 1)), Value<int32_t>(layout_d, kLayoutBatch, 1));
}
