// A CUDA program as an inference engine is one: several streams ordered by events, stream-ordered allocation from two
// pools, pinned memory, a captured graph that forks into a second stream, a graph built node by node and updated, and a
// host function. It checks every byte that it copied; kernels work on memory of their own, so that the checks hold on the
// simulated GPU, which runs no kernel, as well as on a real one.
//
// usage: streams_and_graphs [STEPS]   (default 20)
// Prints one JSON line {"steps","copies_checked","host_calls","graph_launches"}; exit code 1 with a reason on stderr when
// a call fails or a byte is wrong.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    const cudaError_t error_ = (call);                                  \
    if (error_ != cudaSuccess) Fail(#call, cudaGetErrorString(error_)); \
  } while (0)

namespace {

constexpr int kStreams = 3;
constexpr size_t kBytes = 256 << 10;

int copies_checked = 0;
int graph_launches = 0;
std::atomic<int> host_calls{0};

[[noreturn]] void Fail(const char* what, const char* why) {
  std::fprintf(stderr, "streams_and_graphs: %s: %s\n", what, why);
  std::exit(1);
}

__global__ void attention_kernel(float* scratch, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) scratch[i] = scratch[i] * 0.5f + 1.0f;
}

__global__ void sample_kernel(float* scratch, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) scratch[i] += 1.0f;
}

void CountHostCall(void*) { host_calls.fetch_add(1); }

void Fill(char* bytes, int seed) {
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<char>((i * 31 + static_cast<size_t>(seed) * 17) & 0x7f);
}

void Compare(const char* got, const char* want, const char* where) {
  if (std::memcmp(got, want, kBytes) != 0) Fail(where, "bytes differ after the copies");
  ++copies_checked;
}

cudaMemPool_t NewPool() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  unsigned long long keep_everything = ~0ull;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_everything));
  return pool;
}

struct Program {
  cudaStream_t streams[kStreams];
  cudaEvent_t ready[kStreams], begin, end;
  cudaMemPool_t pools[2];
  char *pinned_in, *pinned_out, *device_a, *device_b;
  float* scratch;

  Program() {
    for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& event : ready) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (cudaMemPool_t& pool : pools) pool = NewPool();
    CHECK(cudaMallocHost(&pinned_in, kBytes));
    CHECK(cudaMallocHost(&pinned_out, kBytes));
    CHECK(cudaMalloc(&device_a, kBytes));
    CHECK(cudaMalloc(&device_b, kBytes));
    CHECK(cudaMalloc(&scratch, kBytes));
    CHECK(cudaMemset(scratch, 0, kBytes));
  }

  ~Program() {
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    for (cudaEvent_t event : ready) CHECK(cudaEventDestroy(event));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    for (cudaMemPool_t pool : pools) CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(pinned_in));
    CHECK(cudaFreeHost(pinned_out));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(scratch));
  }

  void Kernels(cudaStream_t stream) {
    attention_kernel<<<32, 256, 0, stream>>>(scratch, kBytes / sizeof(float));
    sample_kernel<<<32, 256, 0, stream>>>(scratch, kBytes / sizeof(float));
  }

  // Up on one stream, across on the second, down on the third, ordered by events; memory in between from a pool.
  void CopyAcrossStreams(int step) {
    Fill(pinned_in, step);
    void* between = nullptr;
    CHECK(cudaMallocFromPoolAsync(&between, kBytes, pools[step % 2], streams[0]));
    CHECK(cudaEventRecord(begin, streams[0]));
    CHECK(cudaMemcpyAsync(device_a, pinned_in, kBytes, cudaMemcpyHostToDevice, streams[0]));
    Kernels(streams[0]);
    CHECK(cudaEventRecord(ready[0], streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], ready[0], 0));
    CHECK(cudaMemcpyAsync(between, device_a, kBytes, cudaMemcpyDeviceToDevice, streams[1]));
    CHECK(cudaEventRecord(ready[1], streams[1]));
    CHECK(cudaStreamWaitEvent(streams[2], ready[1], 0));
    CHECK(cudaLaunchHostFunc(streams[2], CountHostCall, nullptr));
    CHECK(cudaMemcpyAsync(pinned_out, between, kBytes, cudaMemcpyDeviceToHost, streams[2]));
    CHECK(cudaFreeAsync(between, streams[2]));
    CHECK(cudaEventRecord(end, streams[2]));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (!(milliseconds > 0)) Fail("cudaEventElapsedTime", "not a positive time");
    Compare(pinned_out, pinned_in, "copies across streams");
  }

  // One graph, captured once, that forks into a second stream and joins back.
  cudaGraphExec_t Capture() {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(device_a, pinned_in, kBytes, cudaMemcpyHostToDevice, streams[0]));
    CHECK(cudaEventRecord(ready[0], streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], ready[0], 0));
    Kernels(streams[1]);
    CHECK(cudaMemcpyAsync(device_b, device_a, kBytes, cudaMemcpyDeviceToDevice, streams[0]));
    CHECK(cudaEventRecord(ready[1], streams[1]));
    CHECK(cudaStreamWaitEvent(streams[0], ready[1], 0));
    CHECK(cudaMemcpyAsync(pinned_out, device_b, kBytes, cudaMemcpyDeviceToHost, streams[0]));
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
  }

  void Replay(cudaGraphExec_t exec, int step) {
    Fill(pinned_in, step + 1000);
    std::memset(pinned_out, 0, kBytes);
    CHECK(cudaGraphLaunch(exec, streams[0]));
    ++graph_launches;
    CHECK(cudaStreamSynchronize(streams[0]));
    Compare(pinned_out, pinned_in, "a captured graph");
  }

  // A graph built node by node: fill, kernel and copy; then its copy's target is changed in place.
  void BuildAndUpdate() {
    cudaGraph_t graph;
    cudaGraphNode_t fill, kernel, copy;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill_parameters{};
    fill_parameters.dst = device_a;
    fill_parameters.value = 0x5a;
    fill_parameters.elementSize = 1;
    fill_parameters.width = kBytes;
    fill_parameters.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fill_parameters));
    int n = kBytes / sizeof(float);
    void* arguments[] = {&scratch, &n};
    cudaKernelNodeParams kernel_parameters{};
    kernel_parameters.func = reinterpret_cast<void*>(attention_kernel);
    kernel_parameters.gridDim = dim3(32);
    kernel_parameters.blockDim = dim3(256);
    kernel_parameters.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &kernel_parameters));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, pinned_out, device_a, kBytes, cudaMemcpyDeviceToHost));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    if (nodes != 3) Fail("cudaGraphGetNodes", "not three nodes");
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    std::vector<char> want(kBytes, 0x5a);
    for (char* target : {pinned_out, pinned_in}) {
      std::memset(target, 0, kBytes);
      CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, target, device_a, kBytes, cudaMemcpyDeviceToHost));
      CHECK(cudaGraphLaunch(exec, streams[1]));
      ++graph_launches;
      CHECK(cudaStreamSynchronize(streams[1]));
      Compare(target, want.data(), "a built graph");
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 20;
  {
    Program program;
    cudaGraphExec_t exec = program.Capture();
    for (int step = 0; step < steps; ++step) {
      program.CopyAcrossStreams(step);
      program.Replay(exec, step);
    }
    CHECK(cudaGraphExecDestroy(exec));
    program.BuildAndUpdate();
    CHECK(cudaDeviceSynchronize());
  }
  if (host_calls.load() != steps) Fail("cudaLaunchHostFunc", "not one call a step");
  std::printf("{\"steps\":%d,\"copies_checked\":%d,\"host_calls\":%d,\"graph_launches\":%d}\n", steps, copies_checked,
              host_calls.load(), graph_launches);
  return 0;
}
