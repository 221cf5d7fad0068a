// The simulated libcupti against programs that use the simulated runtime: callbacks, records, loss, and the real
// parser's view of the buffers.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);

namespace {

void KernelStub() {}

using Bytes = std::vector<uint8_t>;

// What the client got back, buffer by buffer.
struct Delivered {
  std::mutex mutex;
  std::vector<Bytes> buffers;
  std::set<std::thread::id> requesting_threads;
  std::atomic<bool> refuse{false};
};
Delivered& Client() {
  static auto* delivered = new Delivered;
  return *delivered;
}

constexpr size_t kBufferBytes = 16 << 10;

void CUPTIAPI Request(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *max_records = 0;
  *bytes = kBufferBytes;
  *buffer = Client().refuse ? nullptr : static_cast<uint8_t*>(std::malloc(kBufferBytes));
  std::lock_guard lock(Client().mutex);
  Client().requesting_threads.insert(std::this_thread::get_id());
}

void CUPTIAPI Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  std::lock_guard lock(Client().mutex);
  Client().buffers.emplace_back(buffer, buffer + valid_bytes);
  std::free(buffer);
}

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

class CuptiActivity : public testing::Test {
 protected:
  void SetUp() override {
    __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(&KernelStub), nullptr, "_Z10test_kernelv", -1,
                           nullptr, nullptr, nullptr, nullptr, nullptr);
    ASSERT_EQ(cuptiActivityRegisterCallbacks(Request, Complete), CUPTI_SUCCESS);
    Drain();
  }
  void TearDown() override {
    for (int kind = 0; kind < 56; ++kind) cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
    Drain();
    Client().refuse = false;
    cudaGetLastError();
  }
  void Drain() {
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    size_t dropped = 0;
    cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
    std::lock_guard lock(Client().mutex);
    Client().buffers.clear();
    Client().requesting_threads.clear();
  }
  static cudaError_t LaunchKernel(cudaStream_t stream) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(&KernelStub), dim3(2, 3, 1), dim3(64, 1, 1), nullptr, 0,
                            stream);
  }
  // Flushes, and the records of one kind that the client has by then.
  template <typename Record>
  std::vector<Record> Records(CUpti_ActivityKind kind, uint32_t flag = 0) {
    EXPECT_EQ(cuptiActivityFlushAll(flag), CUPTI_SUCCESS);
    std::lock_guard lock(Client().mutex);
    std::vector<Record> records;
    for (Bytes& buffer : Client().buffers) {
      CUpti_Activity* activity = nullptr;
      while (cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &activity) == CUPTI_SUCCESS) {
        if (activity->kind != kind) continue;
        Record record;
        std::memcpy(&record, activity, sizeof record);
        records.push_back(record);
      }
    }
    return records;
  }
};

TEST_F(CuptiActivity, EightThreadsOfLaunches_GiveEachRecordExactlyOnce) {
  constexpr int kThreads = 8, kLaunches = 2000;
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      cudaStream_t stream;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      for (int launch = 0; launch < kLaunches; ++launch) ASSERT_EQ(LaunchKernel(stream), cudaSuccess);
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto kernels = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::set<uint32_t> kernel_ids, launch_ids;
  for (const auto& kernel : kernels) kernel_ids.insert(kernel.correlationId);
  for (const auto& api : Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME)) {
    if (api.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) launch_ids.insert(api.correlationId);
  }
  EXPECT_EQ(kernels.size(), size_t{kThreads} * kLaunches);
  EXPECT_EQ(kernel_ids.size(), size_t{kThreads} * kLaunches);
  EXPECT_EQ(kernel_ids, launch_ids);
  size_t dropped = 1;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
  std::lock_guard lock(Client().mutex);
  EXPECT_GT(Client().requesting_threads.size(), 1u);  // asked for on the program's threads
}

TEST_F(CuptiActivity, KernelRecord_TellsNamePlaceShapeAndTime) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(LaunchKernel(nullptr), cudaSuccess);
  cudaDeviceSynchronize();
  const auto kernels = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 1u);
  const CUpti_ActivityKernel10& kernel = kernels[0];
  EXPECT_STREQ(kernel.name, "_Z10test_kernelv");
  EXPECT_EQ(kernel.gridY, 3);
  EXPECT_EQ(kernel.blockX, 64);
  EXPECT_EQ(kernel.streamId, 7u);
  EXPECT_EQ(kernel.contextId, 1u);
  EXPECT_EQ(kernel.end - kernel.start, 2500u);  // the default duration
  EXPECT_EQ(kernel.completed, kernel.end);
  EXPECT_EQ(kernel.graphNodeId, 0u);
}

TEST_F(CuptiActivity, UnfinishedKernel_IsWithheldUntilForced) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  // More work than can have ended when the flush looks, whatever the machine does in between.
  for (int i = 0; i < 1000; ++i) LaunchKernel(nullptr);
  cudaEvent_t end;
  cudaEventCreate(&end);
  cudaEventRecord(end, nullptr);
  const bool unfinished = cudaEventQuery(end) == cudaErrorNotReady;
  const size_t early = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size();
  const bool still_unfinished = cudaEventQuery(end) == cudaErrorNotReady;
  const auto all =
      Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  EXPECT_EQ(all.size(), 1000u);
  if (!unfinished || !still_unfinished) GTEST_SKIP() << "the machine was too slow to see unfinished work";
  EXPECT_LT(early, 1000u);
  cudaEventDestroy(end);
}

TEST_F(CuptiActivity, GraphTrace_TakesThePlaceOfNodeRecordsAndSwitchesLive) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  for (int i = 0; i < 5; ++i) LaunchKernel(stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  uint32_t exec_id = 0;
  cuptiGetGraphExecId(reinterpret_cast<CUgraphExec>(exec), &exec_id);

  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  const auto graphs = Records<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].graphId, exec_id);
  EXPECT_EQ(graphs[0].end - graphs[0].start, 5 * 2500u + 4 * 400u);
  EXPECT_TRUE(Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).empty());

  cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  const auto nodes = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(nodes.size(), 5u);
  std::set<uint64_t> node_ids;
  for (const auto& node : nodes) {
    EXPECT_EQ(node.graphId, exec_id);
    EXPECT_EQ(node.correlationId, nodes[0].correlationId);
    node_ids.insert(node.graphNodeId);
  }
  EXPECT_EQ(node_ids.size(), 5u);
  EXPECT_FALSE(node_ids.contains(0));
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_F(CuptiActivity, CopyFillAndWait_HaveTheirRecords) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  void *device, *pinned;
  cudaMalloc(&device, 4096);
  cudaMallocHost(&pinned, 4096);
  cudaMemsetAsync(device, 3, 4096, nullptr);
  cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDeviceToHost, nullptr);
  cudaStreamSynchronize(nullptr);
  EXPECT_EQ(static_cast<char*>(pinned)[4095], 3);
  const auto copies = Records<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(copies[0].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
  EXPECT_EQ(copies[0].bytes, 4096u);
  const auto fills = Records<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(fills[0].value, 3u);
  const auto waits = Records<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  EXPECT_GE(waits[0].end, copies[0].end);
  cudaFree(device);
  cudaFreeHost(pinned);
}

TEST_F(CuptiActivity, ClientWithoutBuffers_LosesRecordsAndIsToldHowMany) {
  Client().refuse = true;
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  for (int i = 0; i < 10; ++i) LaunchKernel(nullptr);
  cudaDeviceSynchronize();
  cuptiActivityFlushAll(0);
  size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  EXPECT_EQ(dropped, 10u);
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  EXPECT_EQ(dropped, 0u);  // reading resets
}

TEST_F(CuptiActivity, EnableAndDump_TellsTheDeviceByItsSimulatedName) {
  cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE);
  const auto devices = Records<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_THAT(devices[0].name, testing::HasSubstr("Simulated GPU"));
}

void CUPTIAPI IgnoreCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Faults are read once a process: each runs in a fresh process of its own.
TEST(CuptiFaultDeathTest, Busy_RefusesSubscribersAndNamesTheHolder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("SIMGPU_CUPTI_FAULT", "busy", 1);
        CUpti_SubscriberHandle subscriber;
        char holder[64] = {};
        CUpti_SubscriberParams params{};
        params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        params.oldSubscriberName = holder;
        params.oldSubscriberSize = sizeof holder;
        const CUptiResult result = cuptiSubscribe_v2(&subscriber, IgnoreCall, nullptr, &params);
        std::fprintf(stderr, "%d %s", result, holder);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "39 nsys");
}

TEST(CuptiFaultDeathTest, NoDriver_AnswersUnknown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("SIMGPU_CUPTI_FAULT", "no_driver", 1);
        CUpti_SubscriberHandle subscriber;
        std::fprintf(stderr, "%d %d", cuptiSubscribe(&subscriber, IgnoreCall, nullptr),
                     cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "999 999");
}

struct SeenCall {
  CUpti_ApiCallbackSite site;
  std::string name;
  uint32_t correlation_id;
  std::thread::id thread;
  size_t bytes;
};

void CUPTIAPI OnCall(void* user_data, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  const auto* params = static_cast<const cudaMalloc_v3020_params*>(call->functionParams);
  static_cast<std::vector<SeenCall>*>(user_data)->push_back(
      {call->callbackSite, call->functionName, call->correlationId, std::this_thread::get_id(), params->size});
}

TEST_F(CuptiActivity, SecondSubscriber_IsRefusedAndHearsWhoWasFirst) {
  CUpti_SubscriberHandle first, second;
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "first tool";
  ASSERT_EQ(cuptiSubscribe_v2(&first, OnCall, nullptr, &params), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&second, OnCall, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  char holder[64] = {};
  params.subscriberName = "second tool";
  params.oldSubscriberName = holder;
  params.oldSubscriberSize = sizeof holder;
  EXPECT_EQ(cuptiSubscribe_v2(&second, OnCall, nullptr, &params), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(holder, "first tool");
  EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_SUCCESS);
}

TEST_F(CuptiActivity, EnabledCallback_SeesTheRealParametersOnTheCallingThread) {
  std::vector<SeenCall> seen;
  CUpti_SubscriberHandle subscriber;
  ASSERT_EQ(cuptiSubscribe(&subscriber, OnCall, &seen), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020),
            CUPTI_SUCCESS);
  void* device;
  cudaMalloc(&device, 12345);
  cudaFree(device);
  cuptiUnsubscribe(subscriber);
  void* unseen;
  cudaMalloc(&unseen, 1);
  cudaFree(unseen);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(seen[1].site, CUPTI_API_EXIT);
  EXPECT_EQ(seen[0].name, "cudaMalloc_v3020");
  EXPECT_EQ(seen[0].bytes, 12345u);
  EXPECT_EQ(seen[0].correlation_id, seen[1].correlation_id);
  EXPECT_NE(seen[0].correlation_id, 0u);
  EXPECT_EQ(seen[0].thread, std::this_thread::get_id());
}

TEST_F(CuptiActivity, RuntimeAndNestedDriverRecord_ShareTheCorrelationId) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
  LaunchKernel(nullptr);
  const auto runtime = Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  const auto driver = Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
  ASSERT_EQ(runtime.size(), 1u);
  ASSERT_EQ(driver.size(), 1u);
  EXPECT_EQ(driver[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  EXPECT_EQ(runtime[0].correlationId, driver[0].correlationId);
  EXPECT_LE(runtime[0].start, driver[0].start);
  EXPECT_GE(runtime[0].end, driver[0].end);
}

TEST_F(CuptiActivity, TimestampCallback_IsTheClockOfAllRecords) {
  // Last by name order would not do: the callback stays for the process, so this test uses the clock that all want.
  static constexpr auto kMonotonic = +[]() -> uint64_t {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  };
  ASSERT_EQ(cuptiActivityRegisterTimestampCallback(kMonotonic), CUPTI_SUCCESS);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const uint64_t before_ns = kMonotonic();
  LaunchKernel(nullptr);
  cudaDeviceSynchronize();
  const uint64_t after_ns = kMonotonic();
  const auto kernels = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_GE(kernels[0].start, before_ns);
  EXPECT_LE(kernels[0].end, after_ns);
}

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
