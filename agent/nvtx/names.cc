#include "agent/nvtx/names.h"

#include <cstdint>

#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"
#include "agent/nvtx/text_ids.h"

namespace stallscope::agent {

constinit PreviousFunctions g_previous_cuda, g_previous_cudart;

namespace {

constexpr uint32_t kLongestName = 100;

template <typename Value>
uint64_t Number(Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(static_cast<std::make_unsigned_t<Value>>(value));
  }
}

void Report(uint32_t kind, uint64_t value, const char* name) noexcept {
  if (name != nullptr && Recording()) ReportName(kind, value, name);
}
void Report(uint32_t kind, uint64_t value, const wchar_t* name) noexcept {
  if (name == nullptr || !Recording()) return;
  char utf8[kLongestName];
  utf8[Utf8Of(name, utf8, kLongestName - 1)] = '\0';
  ReportName(kind, value, utf8);
}

// One function for each slot: `module`'s previous function gets the call too.
template <uint32_t kind, PreviousFunctions* previous, uint32_t slot, typename Value, typename Char>
void NVTX_API Name(Value value, const Char* name) {
  Report(kind, Number(value), name);
  if (auto* function = previous->At<void NVTX_API(Value, const Char*)>(slot)) function(value, name);
}

// The handles of streams, contexts and devices as NVTX declares them: pointers and int. Only their size matters here.
using Handle = void*;

template <uint32_t kind, PreviousFunctions* previous, uint32_t slot, typename Value, typename Char>
NvtxFunctionPointer Pointer() {
  return reinterpret_cast<NvtxFunctionPointer>(&Name<kind, previous, slot, Value, Char>);
}

#define STALLSCOPE_NAME(module, slot, kind, previous, Value, Char) \
  { NVTX_CB_MODULE_##module, slot, Pointer<kind, &previous, slot, Value, Char>() }

}  // namespace

const NameFunction kNameFunctions[kNameFunctionCount] = {
    STALLSCOPE_NAME(CORE, NVTX_CBID_CORE_NameOsThreadA, kNamedThread, g_previous_core, uint32_t, char),
    STALLSCOPE_NAME(CORE, NVTX_CBID_CORE_NameOsThreadW, kNamedThread, g_previous_core, uint32_t, wchar_t),
    STALLSCOPE_NAME(CUDA, NVTX_CBID_CUDA_NameCuDeviceA, kNamedDevice, g_previous_cuda, int, char),
    STALLSCOPE_NAME(CUDA, NVTX_CBID_CUDA_NameCuDeviceW, kNamedDevice, g_previous_cuda, int, wchar_t),
    STALLSCOPE_NAME(CUDA, NVTX_CBID_CUDA_NameCuContextA, kNamedContext, g_previous_cuda, Handle, char),
    STALLSCOPE_NAME(CUDA, NVTX_CBID_CUDA_NameCuContextW, kNamedContext, g_previous_cuda, Handle, wchar_t),
    STALLSCOPE_NAME(CUDA, NVTX_CBID_CUDA_NameCuStreamA, kNamedStream, g_previous_cuda, Handle, char),
    STALLSCOPE_NAME(CUDA, NVTX_CBID_CUDA_NameCuStreamW, kNamedStream, g_previous_cuda, Handle, wchar_t),
    STALLSCOPE_NAME(CUDART, NVTX_CBID_CUDART_NameCudaDeviceA, kNamedDevice, g_previous_cudart, int, char),
    STALLSCOPE_NAME(CUDART, NVTX_CBID_CUDART_NameCudaDeviceW, kNamedDevice, g_previous_cudart, int, wchar_t),
    STALLSCOPE_NAME(CUDART, NVTX_CBID_CUDART_NameCudaStreamA, kNamedStream, g_previous_cudart, Handle, char),
    STALLSCOPE_NAME(CUDART, NVTX_CBID_CUDART_NameCudaStreamW, kNamedStream, g_previous_cudart, Handle, wchar_t),
};
#undef STALLSCOPE_NAME

}  // namespace stallscope::agent
