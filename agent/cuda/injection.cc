// The way in through CUDA_INJECTION64_PATH: libcuda loads the agent during cuInit and calls InitializeInjection. It is
// the only way to see a program whose CUDA runtime is linked statically, since such a program calls nothing that a
// preload could interpose.
#include "agent/cuda/first_call.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

// 1: the tool is there. libcuda may call more than once.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  namespace agent = stallscope::agent;
  agent::EnsureSetUp();
  if (agent::Recording()) agent::FirstCudaCall(/*may_ask_runtime=*/false);
  return 1;
}
