// Streams of the simulated libcudart beyond launches: host functions, per-thread default streams, pools, peers, managed
// memory. No wall clock is asserted on.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

extern "C" cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id);
extern "C" cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                            cudaStream_t stream);
extern "C" cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);

namespace {

class CudaStreams : public testing::Test {
 protected:
  void SetUp() override { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  void TearDown() override { cudaStreamDestroy(stream_); }
  cudaStream_t stream_ = nullptr;
};

TEST_F(CudaStreams, HostFunction_HasRunWhenTheStreamIsSynchronized) {
  int calls = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(cudaLaunchHostFunc(
                  stream_, [](void* counter) { ++*static_cast<int*>(counter); }, &calls),
              cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(calls, 5);
}

TEST_F(CudaStreams, CopyBehindAHostFunction_CarriesWhatTheFunctionWrote) {
  void *pinned_memory, *device;
  cudaMallocHost(&pinned_memory, 16);
  cudaMalloc(&device, 16);
  char* pinned = static_cast<char*>(pinned_memory);
  std::strcpy(pinned, "before");
  cudaLaunchHostFunc(
      stream_, [](void* to) { std::strcpy(static_cast<char*>(to), "by the host"); }, pinned);
  cudaMemcpyAsync(device, pinned, 16, cudaMemcpyHostToDevice, stream_);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, stream_);
  // Another stream that waits for the event sees it too.
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaStreamWaitEvent(other, done, 0);
  char back[16] = {};
  cudaMemcpyAsync(back, device, 16, cudaMemcpyDeviceToHost, other);
  cudaStreamSynchronize(other);
  EXPECT_STREQ(back, "by the host");
  cudaEventDestroy(done);
  cudaStreamDestroy(other);
  cudaFree(device);
  cudaFreeHost(pinned);
}

TEST_F(CudaStreams, StreamBehindAWaitingHostFunction_IsNotReady) {
  std::atomic<bool> go{false};
  cudaLaunchHostFunc(
      stream_,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
      },
      &go);
  cudaEvent_t behind;
  cudaEventCreateWithFlags(&behind, cudaEventDisableTiming);
  cudaEventRecord(behind, stream_);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(behind), cudaErrorNotReady);
  go.store(true);
  EXPECT_EQ(cudaEventSynchronize(behind), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  cudaEventDestroy(behind);
}

TEST_F(CudaStreams, Callback_GetsItsStreamAndStatus) {
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  ASSERT_EQ(cudaStreamAddCallback(
                stream_,
                [](cudaStream_t stream, cudaError_t status, void* to) {
                  *static_cast<Seen*>(to) = {stream, status};
                },
                &seen, 0),
            cudaSuccess);
  cudaDeviceSynchronize();
  EXPECT_EQ(seen.stream, stream_);
  EXPECT_EQ(seen.status, cudaSuccess);
}

TEST_F(CudaStreams, PerThreadVariants_MeanTheThreadsOwnStream) {
  unsigned long long legacy = 0, own = 0, own_by_handle = 0, others = 0;
  cudaStreamGetId(nullptr, &legacy);
  cudaStreamGetId_ptsz(nullptr, &own);
  cudaStreamGetId(cudaStreamPerThread, &own_by_handle);
  std::thread([&] { cudaStreamGetId_ptsz(nullptr, &others); }).join();
  EXPECT_NE(own, legacy);
  EXPECT_EQ(own, own_by_handle);
  EXPECT_NE(own, others);
  char text[8] = "moved", back[8] = {};
  void* device;
  cudaMalloc(&device, 8);
  EXPECT_EQ(cudaMemcpyAsync_ptsz(device, text, 8, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpy_ptds(back, device, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_STREQ(back, "moved");
  cudaFree(device);
}

TEST_F(CudaStreams, Priority_IsKeptWithinTheRange) {
  cudaStream_t urgent;
  int priority = 0;
  cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -100);
  cudaStreamGetPriority(urgent, &priority);
  EXPECT_EQ(priority, -5);
  cudaStreamDestroy(urgent);
}

TEST_F(CudaStreams, Pools_CountTheirMemoryApartAndReuseIt) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  properties.maxSize = 1 << 20;
  cudaMemPool_t pool, other;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  ASSERT_EQ(cudaMemPoolCreate(&other, &properties), cudaSuccess);
  void *first, *second;
  ASSERT_EQ(cudaMallocFromPoolAsync(&first, 65536, pool, stream_), cudaSuccess);
  uint64_t used = 0, used_by_other = 1, reserved = 0;
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  cudaMemPoolGetAttribute(other, cudaMemPoolAttrUsedMemCurrent, &used_by_other);
  EXPECT_EQ(used, 65536u);
  EXPECT_EQ(used_by_other, 0u);
  cudaFreeAsync(first, stream_);
  ASSERT_EQ(cudaMallocFromPoolAsync(&second, 65536, pool, stream_), cudaSuccess);
  EXPECT_EQ(first, second);
  EXPECT_EQ(cudaMallocFromPoolAsync(&first, 1 << 20, pool, stream_), cudaErrorMemoryAllocation);
  cudaFreeAsync(second, stream_);
  // Nothing is kept above the release threshold, which begins at zero.
  cudaStreamSynchronize(stream_);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
  EXPECT_EQ(reserved, 0u);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
  cudaMemPoolDestroy(other);
}

TEST_F(CudaStreams, TwoDevices_HaveTheirOwnMemoryAndPeers) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  if (devices < 2) GTEST_SKIP() << "run with SIMGPU_DEVICES=2";
  void *here, *there;
  char text[8] = "across", back[8] = {};
  cudaMalloc(&here, 8);
  cudaSetDevice(1);
  size_t free_before = 0, free_after = 0, total = 0;
  cudaMemGetInfo(&free_before, &total);
  cudaMalloc(&there, 1 << 20);
  cudaMemGetInfo(&free_after, &total);
  EXPECT_EQ(free_before - free_after, size_t{1} << 20);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, there);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
  cudaGetLastError();
  cudaSetDevice(0);
  cudaMemcpy(here, text, 8, cudaMemcpyHostToDevice);
  EXPECT_EQ(cudaMemcpyPeer(there, 1, here, 0, 8), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeer(there, 2, here, 0, 8), cudaErrorInvalidDevice);
  cudaMemcpy(back, there, 8, cudaMemcpyDeviceToHost);
  EXPECT_STREQ(back, "across");
  cudaFree(here);
  cudaFree(there);
}

TEST_F(CudaStreams, ManagedMemory_KeepsItsAdvice) {
  void* managed;
  cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal);
  int read_mostly = 0, prefetched = 0;
  EXPECT_EQ(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, 0}), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 4096, {cudaMemLocationTypeDevice, 0}, 0, stream_), cudaSuccess);
  cudaMemRangeGetAttribute(&read_mostly, sizeof read_mostly, cudaMemRangeAttributeReadMostly, managed, 4096);
  cudaMemRangeGetAttribute(&prefetched, sizeof prefetched, cudaMemRangeAttributeLastPrefetchLocation, managed, 4096);
  EXPECT_EQ(read_mostly, 1);
  EXPECT_EQ(prefetched, 0);
  char pageable[16];
  EXPECT_EQ(cudaMemPrefetchAsync(pageable, 16, {cudaMemLocationTypeDevice, 0}, 0, stream_), cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFree(managed);
}

TEST_F(CudaStreams, BatchOf3DCopies_MovesEachAndSkipsWhatARowIsLonger) {
  void* device;
  cudaMalloc(&device, 32);
  char from[] = "aaaabbbbccccdddd", to[32] = {};
  const auto operand = [](void* pointer, size_t row_length) {
    cudaMemcpy3DOperand one = {};
    one.type = cudaMemcpyOperandTypePointer;
    one.op.ptr.ptr = pointer;
    one.op.ptr.rowLength = row_length;
    return one;
  };
  cudaMemcpy3DBatchOp copies[2] = {};
  copies[0].src = operand(from, 0);
  copies[0].dst = operand(device, 0);
  copies[0].extent = {16, 1, 1};
  copies[1].src = operand(device, 4);  // the first half of each row
  copies[1].dst = operand(to, 0);
  copies[1].extent = {2, 2, 2};
  EXPECT_EQ(cudaMemcpy3DBatchAsync(2, copies, 0, stream_), cudaSuccess);
  cudaStreamSynchronize(stream_);
  EXPECT_STREQ(to, "aabbccdd");
  copies[1].dst.type = cudaMemcpyOperandTypeArray;  // arrays are not simulated
  EXPECT_EQ(cudaMemcpy3DBatchAsync(2, copies, 0, stream_), cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFree(device);
}

TEST_F(CudaStreams, IpcMemoryAndEvent_AreOneInTwoProcesses) {
  void* device;
  char text[32] = "by the parent", back[32] = {};
  cudaMalloc(&device, 8192);
  cudaMemcpy(device, text, sizeof text, cudaMemcpyHostToDevice);
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event_handle;
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess);
  ASSERT_EQ(cudaIpcGetMemHandle(&memory, device), cudaSuccess);
  ASSERT_EQ(cudaIpcGetEventHandle(&event_handle, event), cudaSuccess);
  const pid_t child = fork();
  if (child == 0) {
    void* shared = nullptr;
    cudaEvent_t shared_event;
    char seen[32] = {};
    const bool opened = cudaIpcOpenMemHandle(&shared, memory, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess &&
                        cudaIpcOpenEventHandle(&shared_event, event_handle) == cudaSuccess && shared != device;
    cudaMemcpy(seen, shared, sizeof seen, cudaMemcpyDeviceToHost);
    cudaMemcpy(shared, "by the child", 13, cudaMemcpyHostToDevice);
    const bool right = opened && std::strcmp(seen, "by the parent") == 0 &&
                       cudaEventSynchronize(shared_event) == cudaSuccess &&
                       cudaIpcCloseMemHandle(shared) == cudaSuccess;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost);
  EXPECT_STREQ(back, "by the child");
  cudaEventDestroy(event);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

}  // namespace
