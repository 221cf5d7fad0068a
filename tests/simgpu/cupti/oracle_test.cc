// The simulated libcupti against the real one, whose parser and names need no GPU. Skipped where it is not installed.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/simgpu/cupti/activity_client.h"

namespace simgpu::cupti {
namespace {

using NextRecordFunction = CUptiResult (*)(uint8_t*, size_t, CUpti_Activity**);

std::vector<Bytes> Walk(const std::vector<Bytes>& buffers, NextRecordFunction next, size_t record_bytes_of_kind(int)) {
  std::vector<Bytes> records;
  for (Bytes buffer : buffers) {
    CUpti_Activity* record = nullptr;
    CUptiResult result;
    while ((result = next(buffer.data(), buffer.size(), &record)) == CUPTI_SUCCESS) {
      const auto* begin = reinterpret_cast<const uint8_t*>(record);
      records.emplace_back(begin, begin + record_bytes_of_kind(record->kind));
    }
    EXPECT_EQ(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
  }
  return records;
}

size_t KindOnly(int) { return sizeof(CUpti_ActivityKind); }

// The oracle: the real parser needs no GPU. Where it is installed it must see the same records in the same buffers.
TEST_F(CuptiActivity, RealParser_WalksTheBuffersToTheSameRecords) {
  const char* path = std::getenv("SIMGPU_REAL_CUPTI");
  if (path == nullptr || *path == '\0') GTEST_SKIP() << "no real libcupti.so.13 was found when this was configured";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "the real libcupti does not load: " << dlerror();
  const auto real_next = reinterpret_cast<NextRecordFunction>(dlsym(library, "cuptiActivityGetNextRecord"));
  ASSERT_NE(real_next, nullptr);
  ASSERT_NE(real_next, &cuptiActivityGetNextRecord);

  for (CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}) {
    ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS);
  }
  for (CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM}) {
    ASSERT_EQ(cuptiActivityEnableAndDump(kind), CUPTI_SUCCESS);
  }
  cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 99);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  void* device;
  char host[64] = {};
  cudaMalloc(&device, 64);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  for (int i = 0; i < 3; ++i) LaunchKernel(stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; i < 100; ++i) {
    LaunchKernel(stream);
    cudaGraphLaunch(exec, stream);
    cudaMemsetAsync(device, i, 64, stream);
    cudaMemcpyAsync(host, device, 64, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  }
  cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr);
  cuptiActivityFlushAll(0);
  cuptiActivityFlushAll(0);  // the first one's own overhead record

  std::lock_guard lock(Client().mutex);
  ASSERT_GT(Client().buffers.size(), 1u);
  const auto ours = Walk(Client().buffers, cuptiActivityGetNextRecord, KindOnly);
  const auto real = Walk(Client().buffers, real_next, KindOnly);
  EXPECT_EQ(ours, real);
  std::map<uint32_t, int> kinds;
  for (const Bytes& record : real) {
    uint32_t kind;
    std::memcpy(&kind, record.data(), sizeof kind);
    ++kinds[kind];
  }
  EXPECT_EQ(kinds.size(), 12u) << "a kind that was enabled has no record";
  EXPECT_EQ(kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 100);
  EXPECT_EQ(kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], 100);

  // And the same answers on the edges.
  for (size_t valid_bytes : {0, 1, 4, 39, 40, 41, 80, 216}) {
    for (uint32_t kind = 0; kind < 70; ++kind) {
      uint8_t buffer[256] = {};
      std::memcpy(buffer, &kind, sizeof kind);
      CUpti_Activity *our_record = nullptr, *real_record = nullptr;
      const CUptiResult our_result = cuptiActivityGetNextRecord(buffer, valid_bytes, &our_record);
      EXPECT_EQ(our_result, real_next(buffer, valid_bytes, &real_record)) << "kind " << kind << " in " << valid_bytes;
      EXPECT_EQ(our_record, real_record);
    }
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaFree(device);
  cudaStreamDestroy(stream);
}

TEST_F(CuptiActivity, RealLibrary_GivesTheSameNames) {
  const char* path = std::getenv("SIMGPU_REAL_CUPTI");
  if (path == nullptr || *path == '\0') GTEST_SKIP() << "no real libcupti.so.13 was found when this was configured";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "the real libcupti does not load: " << dlerror();
  using NameFunction = CUptiResult (*)(CUpti_CallbackDomain, uint32_t, const char**);
  const auto real_name = reinterpret_cast<NameFunction>(dlsym(library, "cuptiGetCallbackName"));
  for (CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    for (uint32_t cbid = 1; cbid < 520; ++cbid) {
      const char *ours = "", *real = "";
      const CUptiResult our_result = cuptiGetCallbackName(domain, cbid, &ours);
      EXPECT_EQ(our_result, real_name(domain, cbid, &real)) << domain << " " << cbid << " " << ours << " " << real;
      EXPECT_STREQ(ours, real) << domain << " " << cbid;
    }
  }
}

}  // namespace
}  // namespace simgpu::cupti
