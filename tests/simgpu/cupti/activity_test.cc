#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "tests/simgpu/cupti/activity_client.h"

namespace simgpu::cupti {
namespace {

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

// As a profiler registers its cycle counter. The callback stays for the process, so this runs in one of its own.
TEST(CuptiClockDeathTest, ClockInOtherUnits_PutsKernelsBetweenItsReadings) {
  static constexpr auto kCycles = +[]() -> uint64_t {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) * 3;
  };
  const auto body = [] {
    StartClient();
    cuptiActivityRegisterTimestampCallback(kCycles);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    const uint64_t before = kCycles();
    for (int i = 0; i < 200; ++i) LaunchKernel(nullptr);
    cudaDeviceSynchronize();
    const uint64_t after = kCycles();
    cuptiActivityFlushAll(0);
    int inside = 0, long_enough = 0;
    for (const auto& kernel : Arrived<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
      inside += kernel.start >= before && kernel.end <= after;
      long_enough += kernel.end - kernel.start > 7400 && kernel.end - kernel.start < 7600;  // 2,500 ns
    }
    std::fprintf(stderr, "%d inside, %d of the right length", inside, long_enough);
    std::_Exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "200 inside, 200 of the right length");
}

}  // namespace
}  // namespace simgpu::cupti
