// Code that the driver loads inside calls: host.module_load for as long as it takes, and nothing of it twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

using ::testing::HasSubstr;
using wire::CodeLoadKind;

// One kernel whose launch takes from 20 to 620 us.
void BuildLaunch(TraceBuilder* trace) {
  trace->Thread("Main").Marker(0).Launch(20, 320, 1).DeviceSync(330, 420).Marker(450);
  trace->Gpu().Kernel(320, 420, 1, "gemm");
}

const std::string& NoteOf(const ProcessReport& report, Line line) { return report.lines[static_cast<int>(line)].note; }

TEST(CodeLoadsInBudget, FunctionLoadedInALaunch_IsModuleLoadNotLaunch) {
  TraceBuilder trace;
  BuildLaunch(&trace);
  trace.Thread("Main").CodeLoad(30, 290, CodeLoadKind::kLazyFunction, 1);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 260);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 40);
  EXPECT_THAT(NoteOf(analysed.Report(), Line::kHostModuleLoad), HasSubstr("loading a function at its first use, Main"));
}

TEST(CodeLoadsInBudget, LoadWithoutAThread_IsThatOfItsLaunch) {
  TraceBuilder trace;
  BuildLaunch(&trace);
  trace.Thread("Main").CodeLoad(30, 290, CodeLoadKind::kJitCompile, 1, /*says_thread=*/false);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 260);
}

TEST(CodeLoadsInBudget, LoadsThatOverlap_AreChargedOnce) {
  TraceBuilder trace;
  BuildLaunch(&trace);
  trace.Thread("Main")
      .CodeLoad(30, 290, CodeLoadKind::kModule, 1)
      .CodeLoad(40, 200, CodeLoadKind::kJitCompile, 1)
      .CodeLoad(250, 310, CodeLoadKind::kLazyFunction, 1);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 280);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 20);
}

TEST(CodeLoadsInBudget, LoadOfAnotherThread_IsNotThisOnesTime) {
  TraceBuilder trace;
  BuildLaunch(&trace);
  trace.Thread("Other").Sleep(0, 1).CodeLoad(30, 290, CodeLoadKind::kModule);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 0);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 300);
}

TEST(CodeLoadsInBudget, LoadBehindGpuWork_IsHidden) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(10, 20, 1).Launch(30, 130, 2).DeviceSync(140, 400).Marker(410);
  trace.Thread("Main").CodeLoad(40, 120, CodeLoadKind::kLazyFunction, 2);
  trace.Gpu().Kernel(20, 200, 1, "gemm").Kernel(200, 400, 2, "softmax");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 0);
  EXPECT_EQ(analysed.steps()[0].hidden[static_cast<size_t>(Line::kHostModuleLoad)], 80'000);
  EXPECT_EQ(analysed.steps()[0].hidden[static_cast<size_t>(Line::kHostLaunch)], 20'000);
}

TEST(CodeLoadsInBudget, LongFirstLaunchOfAKernel_MustHaveLoadedIt) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(20, 620, 1).DeviceSync(630, 720).Marker(750);
  trace.Thread("Main").Launch(760, 1360, 2).DeviceSync(1370, 1460).Marker(1500);
  trace.Gpu().Kernel(620, 720, 1, "gemm").Kernel(1360, 1460, 2, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 600);
  EXPECT_EQ(analysed.Us(1, Line::kHostModuleLoad), 0) << "it was loaded already";
  EXPECT_EQ(analysed.Us(1, Line::kHostLaunch), 600);
  const ProcessReport report = analysed.Report();
  ASSERT_EQ(report.code_loads.size(), 1u);
  EXPECT_EQ(report.code_loads[0].what, "first launches over 0.5 ms");
  EXPECT_EQ(report.code_loads[0].count, 1u);
  EXPECT_THAT(NoteOf(report, Line::kHostModuleLoad), HasSubstr("the first launch of a kernel, Main"));
}

TEST(CodeLoadsInBudget, Allocation_IsHostAlloc) {
  TraceBuilder trace;
  trace.Thread("Main")
      .Marker(0)
      .CudaMalloc(10, 40)
      .Cuda(wire::CudaCallClass::kFree, 40, 60)
      .Cuda(wire::CudaCallClass::kHostAlloc, 60, 70)
      .Cuda(wire::CudaCallClass::kHostRegister, 70, 90)
      .ModuleLoad(90, 100)
      .Launch(100, 110, 1)
      .DeviceSync(110, 200)
      .Marker(200);
  trace.Gpu().Kernel(110, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostAlloc), 80);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 10);
  const ProcessReport report = analysed.Report();
  ASSERT_FALSE(report.memory.calls.empty());
  EXPECT_EQ(report.code_loads.size(), 1u);
}

}  // namespace
}  // namespace stallscope
