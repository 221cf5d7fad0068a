#include "tests/workloads/decode_engine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/workloads/decode_kernels.h"
#include "tests/workloads/truth_note.h"

namespace workloads {
namespace {

constexpr size_t kChurnBytes = size_t{8} << 20;

void Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "decode_workload: %s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK_CUDA(call) Check(call, #call)

}  // namespace

DecodeEngine::DecodeEngine(const DecodeOptions& options) : options_(options) {
  const auto sequences = static_cast<size_t>(options.sequences);
  const size_t activation_bytes = sequences * static_cast<size_t>(options.hidden) * sizeof(float);
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  const unsigned flags = cudaEventDisableTiming | (options.blocking_event ? cudaEventBlockingSync : 0);
  CHECK_CUDA(cudaEventCreateWithFlags(&delivered_, flags));
  CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&activations_), activation_bytes));
  CHECK_CUDA(cudaMemset(activations_, 0, activation_bytes));
  CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&device_tokens_), sequences * sizeof(int)));
  CHECK_CUDA(cudaMallocHost(reinterpret_cast<void**>(&input_ids_), sequences * sizeof(int)));
  CHECK_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned_tokens_), sequences * sizeof(int)));
  pageable_tokens_.resize(sequences);
  if (options.graph) Capture();
}

DecodeEngine::~DecodeEngine() {
  cudaDeviceSynchronize();
  if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
  if (graph_ != nullptr) cudaGraphDestroy(graph_);
  cudaFreeHost(pinned_tokens_);
  cudaFreeHost(input_ids_);
  cudaFree(device_tokens_);
  cudaFree(activations_);
  cudaEventDestroy(delivered_);
  cudaStreamDestroy(stream_);
}

void DecodeEngine::LaunchModel() {
  for (int layer = 0; layer < options_.layers; ++layer) {
    LaunchLayer(activations_, options_.sequences, options_.hidden, stream_);
  }
  LaunchSampler(activations_, options_.sequences, options_.hidden, device_tokens_, stream_);
  CHECK_CUDA(cudaGetLastError());
}

void DecodeEngine::Capture() {
  CHECK_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  LaunchModel();
  CHECK_CUDA(cudaStreamEndCapture(stream_, &graph_));
  CHECK_CUDA(cudaGraphInstantiate(&exec_, graph_, 0));
}

void DecodeEngine::Step(const std::vector<int>& first_ids, std::vector<int>* tokens) {
  const size_t bytes = first_ids.size() * sizeof(int);
  std::memcpy(input_ids_, first_ids.data(), bytes);
  void* scratch = nullptr;
  if (options_.churn) CHECK_CUDA(cudaMalloc(&scratch, kChurnBytes));
  CHECK_CUDA(cudaMemcpyAsync(device_tokens_, input_ids_, bytes, cudaMemcpyHostToDevice, stream_));
  if (options_.graph) {
    CHECK_CUDA(cudaGraphLaunch(exec_, stream_));
  } else {
    LaunchModel();
  }
  int* down = options_.pageable ? pageable_tokens_.data() : pinned_tokens_;
  CHECK_CUDA(cudaMemcpyAsync(down, device_tokens_, bytes, cudaMemcpyDeviceToHost, stream_));
  if (options_.pageable) NoteStep(NowNs(), first_ids.size());  // the copy itself has waited
  CHECK_CUDA(cudaEventRecord(delivered_, stream_));
  CHECK_CUDA(cudaEventSynchronize(delivered_));
  if (!options_.pageable) NoteStep(NowNs(), first_ids.size());
  if (options_.device_sync) CHECK_CUDA(cudaDeviceSynchronize());
  tokens->assign(down, down + first_ids.size());
  if (scratch != nullptr) CHECK_CUDA(cudaFree(scratch));
}

}  // namespace workloads
