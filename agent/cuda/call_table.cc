#include "agent/cuda/call_table.h"

// Only the parameter blocks and the numbers of the callback ids are taken from CUPTI's headers here; cupti.h stays in
// agent/cupti. This macro makes cuda.h declare the types of retired entry points, which the parameter blocks mention.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>
//
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include "agent/cuda/argument_values.h"
#include "agent/cuda/driver_memory_calls.h"
#include "agent/cuda/driver_values.h"
#include "agent/cuda/runtime_calls.h"

// Calls without parameters have no block in the headers. That of __cudaLaunchKernel is missing from them too: its
// stream is taken from the driver call below it, never from a guessed layout (first_driver_stream in call_record.cc).
struct cudaDeviceSynchronize_v3020_params {};
struct cuCtxSynchronize_params {};
struct __cudaLaunchKernel_v13000_params {
  static constexpr cudaStream_t stream = nullptr;
};
using __cudaLaunchKernel_ptsz_v13000_params = __cudaLaunchKernel_v13000_params;

namespace stallscope::agent {

using wire::CudaCallClass;
using wire::CudaDomain;

constexpr CudaCallInfo kCudaCalls[] = {
#define STALLSCOPE_X(symbol, cupti_name, call_class, parameters, arguments, object, argument, copy) \
  {#symbol, #cupti_name, CUPTI_RUNTIME_TRACE_CBID_##cupti_name, CudaDomain::kRuntime, CudaCallClass::call_class},
    STALLSCOPE_CUDA_RUNTIME_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#define STALLSCOPE_Y(name, call_class, parameters, arguments, object, argument, copy) \
  {#name, #name, CUPTI_DRIVER_TRACE_CBID_##name, CudaDomain::kDriver, CudaCallClass::call_class},
        STALLSCOPE_CUDA_DRIVER_CALLS(STALLSCOPE_Y) STALLSCOPE_CUDA_DRIVER_MEMORY_CALLS(STALLSCOPE_Y)
#undef STALLSCOPE_Y
};
constexpr uint32_t kCudaCallCount = sizeof(kCudaCalls) / sizeof(kCudaCalls[0]);

namespace {

using Reader = CudaCallArguments (*)(const void* parameters, bool succeeded);

#define P(field) (block->field)
#define R(pointer) Written(pointer, succeeded)
#define SINCE_13(name, before) P(name)

constexpr Reader kReaders[] = {
#define STALLSCOPE_X(symbol, cupti_name, call_class, parameters, arguments, object, argument, copy) \
  [](const void* parameters_block, [[maybe_unused]] bool succeeded) -> CudaCallArguments {          \
    [[maybe_unused]] const auto* block = static_cast<const cupti_name##_params*>(parameters_block); \
    return {Value(object), Value(argument), Copy(copy)};                                            \
  },
    STALLSCOPE_CUDA_RUNTIME_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#define STALLSCOPE_Y(name, call_class, parameters, arguments, object, argument, copy)         \
  [](const void* parameters_block, [[maybe_unused]] bool succeeded) -> CudaCallArguments {    \
    [[maybe_unused]] const auto* block = static_cast<const name##_params*>(parameters_block); \
    return {Value(object), Value(argument), Copy(copy)};                                      \
  },
        STALLSCOPE_CUDA_DRIVER_CALLS(STALLSCOPE_Y) STALLSCOPE_CUDA_DRIVER_MEMORY_CALLS(STALLSCOPE_Y)
#undef STALLSCOPE_Y
};

using MemoryReader = MemoryArgument (*)(const void* parameters, bool succeeded);
constexpr MemoryReader kMemoryReaders[] = {
#define STALLSCOPE_X(symbol, cupti_name, call_class, parameters, arguments, object, argument, copy) \
  [](const void* parameters_block, [[maybe_unused]] bool succeeded) -> MemoryArgument {             \
    [[maybe_unused]] const auto* block = static_cast<const cupti_name##_params*>(parameters_block); \
    return MemoryOf(argument);                                                                      \
  },
    STALLSCOPE_CUDA_RUNTIME_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#define STALLSCOPE_Y(name, call_class, parameters, arguments, object, argument, copy)         \
  [](const void* parameters_block, [[maybe_unused]] bool succeeded) -> MemoryArgument {       \
    [[maybe_unused]] const auto* block = static_cast<const name##_params*>(parameters_block); \
    return MemoryOf(argument);                                                                \
  },
        STALLSCOPE_CUDA_DRIVER_CALLS(STALLSCOPE_Y) STALLSCOPE_CUDA_DRIVER_MEMORY_CALLS(STALLSCOPE_Y)
#undef STALLSCOPE_Y
};
#undef SINCE_13
#undef R
#undef P
static_assert(sizeof(kMemoryReaders) / sizeof(kMemoryReaders[0]) == kCudaCallCount);
static_assert(sizeof(kReaders) / sizeof(kReaders[0]) == kCudaCallCount);

// Callback id -> row + 1. Ids are append-only in CUPTI; the table covers what the headers know.
constexpr uint32_t kIdLimit = 1024;
struct Index {
  uint8_t row_plus_one[2][kIdLimit];
};
constexpr Index MakeIndex() {
  Index index{};
  for (uint32_t row = 0; row < kCudaCallCount; ++row) {
    index.row_plus_one[static_cast<uint32_t>(kCudaCalls[row].domain)][kCudaCalls[row].callback_id] =
        static_cast<uint8_t>(row + 1);
  }
  return index;
}
static_assert(kCudaCallCount < 255);
constexpr Index kIndex = MakeIndex();

}  // namespace

const CudaCallInfo* FindCudaCall(CudaDomain domain, uint32_t callback_id) noexcept {
  if (callback_id >= kIdLimit) return nullptr;
  const uint8_t row_plus_one = kIndex.row_plus_one[static_cast<uint32_t>(domain)][callback_id];
  return row_plus_one == 0 ? nullptr : &kCudaCalls[row_plus_one - 1];
}

CudaCallArguments ReadCallbackParameters(const CudaCallInfo& call, const void* parameters, bool succeeded) noexcept {
  return kReaders[&call - kCudaCalls](parameters, succeeded);
}

MemoryArgument ReadCallbackMemory(const CudaCallInfo& call, const void* parameters, bool succeeded) noexcept {
  return kMemoryReaders[&call - kCudaCalls](parameters, succeeded);
}

}  // namespace stallscope::agent
