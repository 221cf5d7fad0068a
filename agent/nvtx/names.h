// What a program calls its threads, streams, contexts and devices through NVTX (nvtxNameOsThread, nvtxNameCudaStream and
// their kin), forwarded to a tool that was there before.
//
// Any thread of the program; rare: the names are kept under the lock of the streaming thread's notices.
#pragma once

#include "agent/nvtx/previous_tool.h"

namespace stallscope::agent {

struct NameFunction {
  NvtxCallbackModule module;
  uint32_t slot;
  NvtxFunctionPointer function;
};
inline constexpr int kNameFunctionCount = 12;
extern const NameFunction kNameFunctions[kNameFunctionCount];

// What the other tool put into the slots of these modules.
extern PreviousFunctions g_previous_cuda, g_previous_cudart;

}  // namespace stallscope::agent
