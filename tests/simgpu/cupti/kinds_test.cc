// Kinds and callback domains beside launches and copies: memory, pools, resources, waits, markers, JIT, threads' buffers.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/simgpu/cupti/activity_client.h"

namespace simgpu::cupti {
namespace {

using testing::ElementsAre;

TEST_F(CuptiActivity, Memory_ComesAndGoesWithItsSize) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2);
  void* device;
  cudaMalloc(&device, 4096);
  cudaFree(device);
  const auto records = Records<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(records[1].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  for (const auto& record : records) {
    EXPECT_EQ(record.address, reinterpret_cast<uint64_t>(device));
    EXPECT_EQ(record.bytes, 4096u);
    EXPECT_EQ(record.memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(record.isAsync, 0u);
  }
}

TEST_F(CuptiActivity, StreamOrderedMemory_NamesStreamAndPool) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  void* device;
  ASSERT_EQ(cudaMallocFromPoolAsync(&device, 1 << 20, pool, stream), cudaSuccess);
  cudaFreeAsync(device, stream);
  cudaStreamSynchronize(stream);
  cudaMemPoolTrimTo(pool, 0);
  cudaMemPoolDestroy(pool);
  uint32_t stream_id = 0;
  cuptiGetStreamId(nullptr, stream, &stream_id);
  const auto memory = Records<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(memory.size(), 2u);
  for (const auto& record : memory) {
    EXPECT_EQ(record.bytes, 1u << 20);
    EXPECT_EQ(record.isAsync, 1u);
    EXPECT_EQ(record.streamId, stream_id);
    EXPECT_EQ(record.memoryPoolConfig.address, reinterpret_cast<uint64_t>(pool));
  }
  EXPECT_EQ(memory[0].memoryPoolConfig.utilizedSize, 1u << 20);
  std::vector<CUpti_ActivityMemoryPoolOperationType> operations;
  for (const auto& record : Records<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) {
    EXPECT_EQ(record.address, reinterpret_cast<uint64_t>(pool));
    operations.push_back(record.memoryPoolOperationType);
  }
  EXPECT_THAT(operations, ElementsAre(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED,
                                      CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
                                      CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED));
  cudaStreamDestroy(stream);
}

TEST_F(CuptiActivity, PtxModule_IsCompiledAndSaid) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_JIT);
  static const char kPtx[] =
      "//\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry ptx_kernel()\n{\n  ret;\n}\n";
  cudaFree(nullptr);
  CUmodule module;
  ASSERT_EQ(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  const auto compilations = Records<CUpti_ActivityJit2>(CUPTI_ACTIVITY_KIND_JIT);
  ASSERT_EQ(compilations.size(), 1u);
  EXPECT_EQ(compilations[0].jitOperationType, CUPTI_ACTIVITY_JIT_OPERATION_COMPILE);
  EXPECT_LE(compilations[0].start, compilations[0].end);
  EXPECT_NE(compilations[0].correlationId, 0u);
  cuModuleUnload(module);
}

TEST_F(CuptiActivity, CopyBetweenDevices_HasAKindOfItsOwn) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  ASSERT_EQ(devices, 2);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
  void *from, *to;
  cudaMalloc(&from, 4096);
  cudaSetDevice(1);
  cudaMalloc(&to, 4096);
  cudaSetDevice(0);
  ASSERT_EQ(cudaMemcpyPeerAsync(to, 1, from, 0, 4096, nullptr), cudaSuccess);
  cudaDeviceSynchronize();
  EXPECT_TRUE(Records<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY).empty());
  const auto copies = Records<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  EXPECT_EQ(copies[0].bytes, 4096u);
  EXPECT_EQ(copies[0].srcDeviceId, 0u);
  EXPECT_EQ(copies[0].dstDeviceId, 1u);
  cudaFree(from);
  cudaFree(to);
}

TEST_F(CuptiActivity, SynchronizationCallbacks_NameTheStream) {
  struct Seen {
    std::vector<uint32_t> cbids;
    CUstream stream = nullptr;
  } seen;
  CUpti_SubscriberHandle subscriber;
  const auto on_wait = +[](void* data, CUpti_CallbackDomain, CUpti_CallbackId cbid, const void* call) {
    auto* to = static_cast<Seen*>(data);
    to->cbids.push_back(cbid);
    if (cbid == CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED) {
      to->stream = static_cast<const CUpti_SynchronizeData*>(call)->stream;
    }
  };
  ASSERT_EQ(cuptiSubscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(on_wait), &seen), CUPTI_SUCCESS);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamSynchronize(stream);
  cudaDeviceSynchronize();
  cuptiUnsubscribe(subscriber);
  EXPECT_THAT(seen.cbids,
              ElementsAre(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED));
  EXPECT_EQ(seen.stream, stream);
  cudaStreamDestroy(stream);
}

TEST_F(CuptiActivity, ResourceCallbacks_FollowStreamsAndGraphs) {
  std::vector<uint32_t> seen;
  CUpti_SubscriberHandle subscriber;
  const auto on_resource = +[](void* data, CUpti_CallbackDomain, CUpti_CallbackId cbid, const void*) {
    static_cast<std::vector<uint32_t>*>(data)->push_back(cbid);
  };
  ASSERT_EQ(cuptiSubscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(on_resource), &seen), CUPTI_SUCCESS);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraphExec_t exec = MakeGraph(stream, 2);
  cudaGraphExecDestroy(exec);
  cudaStreamDestroy(stream);
  cuptiUnsubscribe(subscriber);
  EXPECT_THAT(seen,
              ElementsAre(CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED,
                          CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                          CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                          CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
                          CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
                          CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING));
}

TEST_F(CuptiActivity, NvtxRanges_BecomePairsOfMarkers) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_NAME);
  nvtxRangePushA("step");
  nvtxMarkA("token");
  nvtxRangePop();
  nvtxDomainHandle_t domain = nvtxDomainCreateA("engine");
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "prefill";
  const nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &event);
  nvtxDomainRangeEnd(domain, range);
  nvtxNameOsThreadA(77, "scheduler");
  const auto markers = Records<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER);
  ASSERT_EQ(markers.size(), 5u);
  EXPECT_STREQ(markers[0].name, "step");
  EXPECT_EQ(markers[0].flags, CUPTI_ACTIVITY_FLAG_MARKER_START);
  EXPECT_STREQ(markers[1].name, "token");
  EXPECT_EQ(markers[1].flags, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS);
  EXPECT_EQ(markers[2].flags, CUPTI_ACTIVITY_FLAG_MARKER_END);
  EXPECT_EQ(markers[2].id, markers[0].id);
  EXPECT_EQ(markers[2].name, nullptr);  // the name is in the first record only
  EXPECT_STREQ(markers[3].domain, "engine");
  EXPECT_EQ(markers[4].id, markers[3].id);
  const auto names = Records<CUpti_ActivityName>(CUPTI_ACTIVITY_KIND_NAME);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_STREQ(names[0].name, "scheduler");
  EXPECT_EQ(names[0].objectId.pt.threadId, 77u);
}

TEST_F(CuptiActivity, OneBufferAThread_AsksForOneEach) {
  uint8_t on = 1, off = 0;
  size_t bytes = 1;
  cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &on);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
  const int before = Client().requests;
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([] { LaunchKernel(nullptr); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Client().requests - before, kThreads);
  EXPECT_EQ(Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).size(), size_t{kThreads});
  cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &off);
}

TEST_F(CuptiActivity, BufferRequests_AreSaidAsOverhead) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
  LaunchKernel(nullptr);
  int requests = 0;
  for (const auto& record : Records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
    requests += record.overheadKind == CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST;
  }
  EXPECT_GE(requests, 1);
}

TEST_F(CuptiActivity, KernelsFirstLaunch_LoadsItLazily) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  const auto loads = [this] {
    int count = 0;
    for (const auto& record : Records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
      if (record.overheadKind != CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING) continue;
      ++count;
      EXPECT_GE(record.end - record.start, 50'000u);
      EXPECT_EQ(record.objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    }
    return count;
  };
  CUmodule module;
  ASSERT_EQ(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.visible .entry lazy_one()\n{\n}\n"), CUDA_SUCCESS);
  CUfunction function;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "lazy_one"), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  cudaDeviceSynchronize();
  EXPECT_EQ(loads(), 1);
}

TEST_F(CuptiActivity, GreenContext_SaysItsMultiprocessors) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONTEXT);
  CUdevResource all = {}, part = {};
  ASSERT_EQ(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  unsigned int groups = 1;
  ASSERT_EQ(cuDevSmResourceSplitByCount(&part, &groups, &all, nullptr, 0, 20), CUDA_SUCCESS);
  EXPECT_EQ(part.sm.smCount, 24u);
  CUdevResourceDesc descriptor;
  ASSERT_EQ(cuDevResourceGenerateDesc(&descriptor, &part, 1), CUDA_SUCCESS);
  CUgreenCtx context;
  EXPECT_EQ(cuGreenCtxCreate(&context, descriptor, 0, 0), CUDA_ERROR_INVALID_VALUE) << "the flag is required";
  ASSERT_EQ(cuGreenCtxCreate(&context, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  const auto contexts = Records<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_EQ(contexts[0].isGreenContext, 1);
  EXPECT_EQ(contexts[0].numMultiprocessors, 24);
  EXPECT_NE(contexts[0].parentContextId, CUPTI_INVALID_CONTEXT_ID);
  EXPECT_EQ(cuGreenCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cuGreenCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(CuptiActivity, KernelsAfterManagedMemory_FaultPagesIn) {
  CUpti_ActivityUnifiedMemoryCounterConfig config = {};
  config.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
  config.kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
  config.enable = 1;
  EXPECT_EQ(cuptiActivityConfigureUnifiedMemoryCounter(nullptr, 1), CUPTI_ERROR_INVALID_PARAMETER);
  ASSERT_EQ(cuptiActivityConfigureUnifiedMemoryCounter(&config, 1), CUPTI_SUCCESS);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2);
  LaunchKernel(nullptr);
  EXPECT_TRUE(Records<CUpti_ActivityUnifiedMemoryCounter3>(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER).empty());
  void* managed;
  ASSERT_EQ(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal), cudaSuccess);
  LaunchKernel(nullptr);
  const auto faults = Records<CUpti_ActivityUnifiedMemoryCounter3>(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].value, 2u);
  EXPECT_EQ(faults[0].address, reinterpret_cast<uint64_t>(managed));
  cudaFree(managed);
}

}  // namespace
}  // namespace simgpu::cupti

// The program's own NVTX finds the simulated libcupti as its injection library.
int main(int argc, char** argv) {
  setenv("NVTX_INJECTION64_PATH", "libcupti.so.13", 1);
  setenv("SIMGPU_DEVICES", "2", 1);
  setenv("SIMGPU_LAZY_LOAD_NS", "50000", 1);
  setenv("SIMGPU_MANAGED_FAULTS", "2", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
