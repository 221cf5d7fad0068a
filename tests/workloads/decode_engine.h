// One decode step on the GPU, as an inference engine's executor makes it: input ids up, the model as a CUDA graph or as
// single launches, token ids down into pinned memory, and a wait for them.
#ifndef STALLSCOPE_TESTS_WORKLOADS_DECODE_ENGINE_H_
#define STALLSCOPE_TESTS_WORKLOADS_DECODE_ENGINE_H_

#include <cuda_runtime_api.h>

#include <vector>

namespace workloads {

struct DecodeOptions {
  int sequences = 8;
  int layers = 16;
  int hidden = 1024;
  bool graph = true;            // replay a captured graph; else launch each kernel
  bool device_sync = false;     // wait for the whole device after each step, on top of the event
  bool blocking_event = false;  // sleep in the event wait instead of spinning
  bool pageable = false;        // fault: token ids come down into pageable memory
  bool churn = false;           // fault: allocate and free device memory in each step
};

// One thread at a time. CUDA errors end the program with a line that names the call.
class DecodeEngine {
 public:
  explicit DecodeEngine(const DecodeOptions& options);
  DecodeEngine(const DecodeEngine&) = delete;
  DecodeEngine& operator=(const DecodeEngine&) = delete;
  ~DecodeEngine();

  // Runs one step; `*tokens` gets one id a sequence. `first_ids` feeds the step, one id a sequence.
  void Step(const std::vector<int>& first_ids, std::vector<int>* tokens);

 private:
  void LaunchModel();
  void Capture();

  const DecodeOptions options_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t delivered_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float* activations_ = nullptr;
  int* device_tokens_ = nullptr;
  int* input_ids_ = nullptr;  // pinned
  int* pinned_tokens_ = nullptr;
  std::vector<int> pageable_tokens_;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_DECODE_ENGINE_H_
