// The interposed CUDA driver functions: LD_PRELOAD puts them before libcuda's, for programs and libraries that are linked
// to it. Who asks dlsym or cuGetProcAddress for them (the runtime, Triton, NCCL) gets libcuda's own, which CUPTI's
// callbacks see and nothing else does.
#define __CUDA_API_VERSION_INTERNAL  // cuda.h then names each function by its exported name
#include <cuda.h>

#include <cstddef>

#include "agent/cuda/argument_values.h"
#include "agent/cuda/call_record.h"
#include "agent/cuda/driver_calls.h"
#include "agent/cuda/driver_values.h"
#include "agent/cuda/real_function.h"

namespace stallscope::agent {
namespace {

// What the driver says for a missing symbol: a program bound to us although no libcuda is loaded.
constexpr CUresult kNoDriver = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;

const CudaCallInfo& DriverCall(uint32_t callback_id) noexcept {
  return *FindCudaCall(wire::CudaDomain::kDriver, callback_id);
}

}  // namespace
}  // namespace stallscope::agent

#include <cupti_driver_cbid.h>

#define P(name) name
#define STALLSCOPE_Y(symbol, call_class, parameters, arguments, object, argument, copy)                 \
  extern "C" __attribute__((visibility("default"))) CUresult symbol parameters {                        \
    using namespace stallscope::agent; /* NOLINT(google-build-using-namespace) */                       \
    namespace wire = stallscope::wire;                                                                  \
    static std::atomic<void*> cached{nullptr};                                                          \
    using Real = CUresult(*) parameters;                                                                \
    const auto real = reinterpret_cast<Real>(RealFunction(&cached, #symbol, "libcuda.so"));             \
    if (__builtin_expect(real == nullptr, 0)) return kNoDriver;                                         \
    constexpr auto kClass = wire::CudaCallClass::call_class;                                            \
    static const CudaCallInfo& call = DriverCall(CUPTI_DRIVER_TRACE_CBID_##symbol);                     \
    ActiveCall active;                                                                                  \
    [[maybe_unused]] bool succeeded = false;                                                            \
    uint64_t awaited = Value(object);                                                                   \
    if constexpr (kClass == wire::CudaCallClass::kSyncEvent) awaited = Value(argument);                 \
    if (!BeginCall(call, awaited, &active)) return real arguments;                                      \
    const CUresult result = real arguments;                                                             \
    succeeded = result == CUDA_SUCCESS;                                                                 \
    EndCall(call, &active, {Value(object), Value(argument), Copy(copy)}, static_cast<int32_t>(result)); \
    return result;                                                                                      \
  }
STALLSCOPE_CUDA_DRIVER_CALLS(STALLSCOPE_Y)
#undef STALLSCOPE_Y
#undef P
