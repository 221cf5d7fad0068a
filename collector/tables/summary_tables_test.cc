#include "collector/tables/summary_tables.h"

#include "collector/tables/table_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/wire/shm.h"

namespace stallscope {
namespace {

class FakeNames : public ProcessNames {
 public:
  std::string_view String(StringId id) const override { return id == 1 ? "_Z3addPf" : id == 2 ? "gemm<a, \"b\">" : ""; }
  std::string_view CallName(wire::CudaDomain, uint16_t call) const override {
    return call == 1 ? "cudaLaunchKernel_v7000" : "cudaGraphLaunch_v10000";
  }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }
};

TEST(PrintedApiName, FourDigitVersions_AreCutAndNoOthers) {
  EXPECT_EQ(PrintedApiName("cudaMalloc_v3020"), "cudaMalloc");
  EXPECT_EQ(PrintedApiName("cudaGraphLaunch_v10000"), "cudaGraphLaunch_v10000");
  EXPECT_EQ(PrintedApiName("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
  EXPECT_EQ(PrintedApiName("cudaStreamGetCaptureInfo_v2_v11030"), "cudaStreamGetCaptureInfo_v2_v11030");
  EXPECT_EQ(PrintedApiName("_v3020"), "_v3020");
}

TEST(DemangledKernelName, MangledAndPlain) {
  EXPECT_EQ(DemangledKernelName("_Z3addPf"), "add(float*)");
  EXPECT_EQ(DemangledKernelName("cupy_copy"), "cupy_copy");
  EXPECT_EQ(DemangledKernelName("_Zbroken"), "_Zbroken");
}

TEST(FindSummary, OldAndNewNames_AreTheSameTable) {
  ASSERT_NE(FindSummary("gpukernsum"), nullptr);
  EXPECT_EQ(FindSummary("gpukernsum"), FindSummary("cuda_gpu_kern_sum"));
  EXPECT_EQ(FindSummary("nvtx"), nullptr);
}

TEST(SummaryTables, CollapsedQueries_CountAsManyCallsOfTheSameTotal) {
  FakeNames names;
  SummaryTables tables;
  CudaCallEvent spin{};
  spin.call = 1, spin.begin = 100, spin.end = 1107, spin.flags = wire::kCudaFlagSpin, spin.correlation = 10;
  tables.OnProcess(ProcessInfo{}, &names)->OnCudaCall(spin);
  const auto rows = tables.table(SummaryKind::kCudaApi).Rows(RowOrder::kTotal);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].count, 10u);
  EXPECT_EQ(rows[0].total_ns, 1007);
}

TEST(SummaryTables, EventsOfTwoProcesses_FillTheFourTables) {
  FakeNames names;
  SummaryTables tables;
  for (int process = 0; process < 2; ++process) {
    EventSink* sink = tables.OnProcess(ProcessInfo{}, &names);
    CudaCallEvent call{};
    call.call = 1, call.begin = 10, call.end = 15;
    sink->OnCudaCall(call);
    GpuOpEvent kernel{};
    kernel.kind = wire::GpuOpKind::kKernel, kernel.name = 1, kernel.begin = 100, kernel.end = 130;
    sink->OnGpuOp(kernel);
    GpuOpEvent graph = kernel;
    graph.kind = wire::GpuOpKind::kGraph;
    sink->OnGpuOp(graph);
    GpuOpEvent copy{};
    copy.kind = wire::GpuOpKind::kCopy, copy.copy_kind = wire::CopyKind::kDeviceToHost, copy.begin = 1, copy.end = 3;
    sink->OnGpuOp(copy);
    WaitEvent wait{};
    wait.call = wire::OsCall::kEpollWait, wait.begin = 0, wait.end = 5000;
    sink->OnWait(wait);
    wait.call = static_cast<wire::OsCall>(900), wait.end = 2000;
    sink->OnWait(wait);
  }
  auto csv = [&tables](std::string_view name) {
    const SummaryInfo* summary = FindSummary(name);
    return FormatCsv(*summary, tables.Rows(*summary));
  };
  EXPECT_EQ(csv("cuda_api_sum"),
            "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            "100.0,10,2,5.0,5.0,5,5,0.0,cudaLaunchKernel\n");
  EXPECT_EQ(csv("cuda_gpu_kern_sum"),
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            "100.0,60,2,30.0,30.0,30,30,0.0,add(float*)\n");
  EXPECT_EQ(csv("cuda_gpu_mem_time_sum"),
            "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation\n"
            "100.0,4,2,2.0,2.0,2,2,0.0,[CUDA memcpy Device-to-Host]\n");
  EXPECT_EQ(csv("osrt_sum"),
            "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            "71.4,10000,2,5000.0,5000.0,5000,5000,0.0,epoll_wait\n"
            "28.6,4000,2,2000.0,2000.0,2000,2000,0.0,os_call_900\n");
}

TEST(TableFormat, NameWithCommaAndQuotes_IsQuoted) {
  FakeNames names;
  SummaryTables tables;
  GpuOpEvent kernel{};
  kernel.kind = wire::GpuOpKind::kKernel, kernel.name = 2, kernel.end = 1234567;
  tables.OnProcess(ProcessInfo{}, &names)->OnGpuOp(kernel);
  const SummaryInfo* summary = FindSummary("cuda_gpu_kern_sum");
  const auto rows = tables.Rows(*summary);
  EXPECT_THAT(FormatCsv(*summary, rows), testing::HasSubstr("0.0,\"gemm<a, \"\"b\"\">\"\n"));
  EXPECT_THAT(FormatText(*summary, rows), testing::HasSubstr("1,234,567"));
  EXPECT_THAT(FormatText(*summary, rows), testing::StartsWith(" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n"));
  EXPECT_THAT(FormatJson(*summary, rows), testing::HasSubstr("\"Total Time (ns)\": 1234567"));
}

}  // namespace
}  // namespace stallscope
