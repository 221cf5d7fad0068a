// A program for a test: one of each call that copies, fills, allocates or calls back in a form that is rarely used, all
// on one stream. Built for CUDA 13 and, where its headers are, for CUDA 12, some of whose functions have another form.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace {

constexpr size_t kWidth = 64, kHeight = 4, kDepth = 2, kBytes = kWidth * kHeight * kDepth;

int g_failed = 0;

void Check(const char* what, cudaError_t result) {
  if (result == cudaSuccess) return;
  std::printf("%s: %d\n", what, static_cast<int>(result));
  ++g_failed;
}
#define CHECK(call) Check(#call, call)

cudaError_t CopyBatch(void** to, void** from, size_t* sizes, size_t count, cudaStream_t stream) {
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first = 0;
#if CUDART_VERSION >= 13000
  return cudaMemcpyBatchAsync(to, const_cast<const void**>(from), sizes, count, &attributes, &first, 1, stream);
#else
  size_t failed = 0;
  return cudaMemcpyBatchAsync(to, from, sizes, count, &attributes, &first, 1, &failed, stream);
#endif
}

cudaError_t CopyBatch3D(cudaMemcpy3DBatchOp* copies, size_t count, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  return cudaMemcpy3DBatchAsync(count, copies, 0, stream);
#else
  size_t failed = 0;
  return cudaMemcpy3DBatchAsync(count, copies, &failed, 0, stream);
#endif
}

cudaError_t Prefetch(void* managed, size_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  return cudaMemPrefetchAsync(managed, bytes, {cudaMemLocationTypeDevice, 0}, 0, stream);
#else
  return cudaMemPrefetchAsync(managed, bytes, 0, stream);
#endif
}

cudaMemcpy3DOperand Operand(void* pointer) {
  cudaMemcpy3DOperand operand = {};
  operand.type = cudaMemcpyOperandTypePointer;
  operand.op.ptr.ptr = pointer;
  return operand;
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  void *pinned = nullptr, *back = nullptr, *managed = nullptr;
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMallocHost(&back, kBytes));
  std::memset(pinned, 7, kBytes);
  const cudaExtent extent = {kWidth, kHeight, kDepth};
  cudaPitchedPtr cube = {};
  CHECK(cudaMalloc3D(&cube, extent));
  CHECK(cudaMemset3D(cube, 1, extent));
  CHECK(cudaMemset3DAsync(cube, 2, extent, stream));

  cudaMemcpy3DPeerParms peer = {};
  peer.srcPtr = {pinned, kWidth, kWidth, kHeight};
  peer.dstPtr = cube;
  peer.extent = extent;
  CHECK(cudaMemcpy3DPeer(&peer));
  CHECK(cudaMemcpy3DPeerAsync(&peer, stream));

  void *flat = nullptr, *to[2], *from[2];
  CHECK(cudaMalloc(&flat, kBytes));
  to[0] = flat, to[1] = static_cast<char*>(flat) + 100;
  from[0] = pinned, from[1] = static_cast<char*>(pinned) + 100;
  size_t sizes[2] = {100, kBytes - 100};
  CHECK(CopyBatch(to, from, sizes, 2, stream));
  cudaMemcpy3DBatchOp copies[1] = {};
  copies[0].src = Operand(flat);
  copies[0].dst = Operand(back);
  copies[0].extent = extent;
  CHECK(CopyBatch3D(copies, 1, stream));

  CHECK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  CHECK(Prefetch(managed, 4096, stream));
  int called = 0;
  CHECK(cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* counter) { ++*static_cast<int*>(counter); }, &called, 0));
  CHECK(cudaStreamSynchronize(stream));
  if (called != 1 || std::memcmp(back, pinned, kBytes) != 0) ++g_failed;

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphExecDestroy(exec));
  for (void* memory : {cube.ptr, flat, managed}) CHECK(cudaFree(memory));
  std::printf("stream %p\n", static_cast<void*>(stream));
  return g_failed;
}
