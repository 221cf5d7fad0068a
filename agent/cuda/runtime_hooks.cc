// The interposed CUDA runtime functions: LD_PRELOAD puts them before libcudart's.
//
// Exported without a version: the loader binds a versioned reference (cudaLaunchKernel@libcudart.so.13) to an
// unversioned definition that comes earlier, so one agent serves every runtime. The declarations of cuda_runtime_api.h
// are not used, because their parameter lists changed between majors (runtime_calls.h says where).
#include <driver_types.h>
#include <vector_types.h>

#include <cstddef>

#include "agent/cuda/argument_values.h"
#include "agent/cuda/call_record.h"
#include "agent/cuda/first_call.h"
#include "agent/cuda/real_function.h"
#include "agent/cuda/runtime_calls.h"

namespace stallscope::agent {
namespace {

// Rows of the table in its order.
enum Row : uint32_t {
#define STALLSCOPE_X(symbol, ...) kRow_##symbol,
  STALLSCOPE_CUDA_RUNTIME_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
};

// A program bound to us although no runtime is loaded (a dlsym of the default scope): what the driver says for a
// missing symbol.
constexpr cudaError_t kNoRuntime = cudaErrorSharedObjectSymbolNotFound;

}  // namespace
}  // namespace stallscope::agent

// What a blocked thread is shown to wait for is known before the call: a stream, or the event of an event synchronize.
// Other arguments are read after it, when results have been written.
#define P(name) name
#define R(pointer) Written(pointer, succeeded)
#define SINCE_13(name, before) (RuntimeIsBefore13() ? (before) : P(name))
#define STALLSCOPE_X(symbol, cupti_name, call_class, parameters, arguments, object, argument, copy)     \
  extern "C" __attribute__((visibility("default"))) cudaError_t symbol parameters {                     \
    using namespace stallscope::agent; /* NOLINT(google-build-using-namespace) */                       \
    namespace wire = stallscope::wire;                                                                  \
    static std::atomic<void*> cached{nullptr};                                                          \
    using Real = cudaError_t(*) parameters;                                                             \
    const auto real = reinterpret_cast<Real>(RealFunction(&cached, #symbol));                           \
    if (__builtin_expect(real == nullptr, 0)) return kNoRuntime;                                        \
    constexpr auto kClass = wire::CudaCallClass::call_class;                                            \
    const CudaCallInfo& call = kCudaCalls[kRow_##symbol];                                               \
    ActiveCall active;                                                                                  \
    [[maybe_unused]] bool succeeded = false;                                                            \
    uint64_t awaited = Value(object);                                                                   \
    if constexpr (kClass == wire::CudaCallClass::kSyncEvent) awaited = Value(argument);                 \
    if (!BeginCall(call, awaited, &active)) return real arguments;                                      \
    const cudaError_t result = real arguments;                                                          \
    succeeded = result == cudaSuccess;                                                                  \
    EndCall(call, &active, {Value(object), Value(argument), Copy(copy)}, static_cast<int32_t>(result)); \
    if constexpr (kIsMemory<decltype(argument)>) {                                                      \
      if (succeeded) NoteMemory(MemoryOf(argument), active.correlation_id);                             \
    }                                                                                                   \
    return result;                                                                                      \
  }
STALLSCOPE_CUDA_RUNTIME_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#undef SINCE_13
#undef R
#undef P
