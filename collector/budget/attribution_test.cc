// Whole traces through the public interface: what each instant is charged to.
#include <gtest/gtest.h>

#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

constexpr uint64_t kMutex = 0x1000, kCondition = 0x2000;

// Passes events on with far-away thread numbers.
class Renumber final : public EventSink {
 public:
  explicit Renumber(EventSink* to) : to_(*to) {}
  void OnWait(const WaitEvent& event) override {
    Pass(event, [this](const WaitEvent& e) { to_.OnWait(e); });
  }
  void OnWake(const WakeEvent& event) override {
    Pass(event, [this](const WakeEvent& e) { to_.OnWake(e); });
  }
  void OnRange(const RangeEvent& event) override {
    Pass(event, [this](const RangeEvent& e) { to_.OnRange(e); });
  }

 private:
  template <typename Event, typename To>
  void Pass(Event event, const To& to) {
    event.thread += 0xC00000;
    to(event);
  }
  EventSink& to_;
};

// The worked example of docs/budget.md section 4: one step (0, 1000].
void BuildWorkedExample(TraceBuilder* trace) {
  trace->Thread("Main")
      .Marker(0)
      .MutexLock(0, 20, kMutex)
      .Launch(60, 90, 1)
      .Launch(90, 95, 2)
      .CopyAsync(95, 98, 3, 4)
      .DeviceSync(98, 900)
      .Marker(1000);
  trace->Thread("W").Unlock(18, kMutex);
  trace->Gpu().Kernel(100, 400, 1, "gemm").Kernel(400, 450, 2, "FillFunctor<int>").CopyD2h(450, 460, 3);
}

TEST(Attribution, WorkedExample_GivesTheNumbersOfTheDefinition) {
  TraceBuilder trace;
  BuildWorkedExample(&trace);
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 1u);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGemm), 300);
  EXPECT_EQ(analysed.Us(0, Line::kGpuFill), 50);
  EXPECT_EQ(analysed.Us(0, Line::kGpuCopyD2h), 10);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGap), 10);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 30);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 158);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 2);
  EXPECT_EQ(analysed.Us(0, Line::kHostSyncOverwait), 440);
  EXPECT_EQ(AnalysedTrace::Sum(analysed.steps()[0].lines), 1'000'000);
  EXPECT_EQ(analysed.steps()[0].tokens, 1u);
}

TEST(Attribution, WorkedExample_ReportsTheSyncAndTheMethod) {
  TraceBuilder trace;
  BuildWorkedExample(&trace);
  AnalysedTrace analysed(&trace);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.steps, 1u);
  EXPECT_EQ(report.tokens, 1u);
  EXPECT_EQ(report.wall_ns, 1'000'000);
  EXPECT_EQ(report.segmentation_method, "marker");
  ASSERT_EQ(report.syncs.size(), 1u);
  EXPECT_EQ(report.syncs[0].name, "cudaDeviceSynchronize");
  EXPECT_EQ(report.syncs[0].calls, 1u);
  EXPECT_EQ(report.syncs[0].total_ns, 802'000);
  EXPECT_EQ(report.syncs[0].over_wait_ns, 440'000);
  EXPECT_EQ(report.syncs[0].idle_inside_ns, 442'000);  // 98-100 before the kernel, 460-900 after the copy
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostSyncOverwait)].note, "cudaDeviceSynchronize, Main");
}

TEST(Attribution, OverWaitBelowTheSkewMargin_CountsAsZeroAndAsWakeup) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).DeviceSync(10, 109).Marker(109);
  trace.Gpu().Kernel(20, 100, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostSyncOverwait), 0);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 9);
  EXPECT_EQ(analysed.Report().syncs.at(0).over_wait_ns, 0);
  EXPECT_GT(analysed.Report().syncs.at(0).within_clock_error_ns, 0);  // not counted, but not hidden either
}

TEST(Attribution, OperationEnqueuedBeforeTheGap_IsGpuGap) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).Launch(10, 20, 2).DeviceSync(20, 200).Marker(200);
  trace.Gpu().Kernel(10, 100, 1, "gemm").Kernel(150, 200, 2, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGap), 50);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 10);
}

TEST(Attribution, KernelsOverlap_HighestClassIsCharged) {
  TraceBuilder trace;
  trace.Thread("Main")
      .Marker(0)
      .Launch(0, 10, 1)
      .Launch(10, 20, 2)
      .CopyAsync(20, 30, 3, 8)
      .DeviceSync(30, 120)
      .Marker(120);
  trace.Gpu().Kernel(10, 60, 1, "rms_norm").CopyD2h(20, 120, 3, 8).OnStream(8).Kernel(30, 100, 2, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kGpuNormAct), 20);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGemm), 70);
  EXPECT_EQ(analysed.Us(0, Line::kGpuCopyD2h), 20);
}

TEST(Attribution, NestedCalls_InnermostIsCharged) {
  TraceBuilder trace;
  // A launch that loads its module first.
  trace.Thread("Main").Marker(0).ModuleLoad(10, 80).Launch(5, 100, 1).Marker(200);
  trace.Gpu().Kernel(100, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostModuleLoad), 70);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 25);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 5);
}

TEST(Attribution, PollInsideABlockingSync_BelongsToTheSync) {
  TraceBuilder trace;
  // cudaEventSynchronize with a blocking event sleeps in poll() inside libcuda.
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).EpollWait(30, 195, 9).DeviceSync(20, 200).Marker(200);
  trace.Gpu().Kernel(10, 100, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostSyncOverwait), 100);
  EXPECT_EQ(analysed.Us(0, Line::kHostIpc), 0);
}

TEST(Attribution, WaitWithoutAWaker_IsChargedByItsKind) {
  TraceBuilder trace;
  trace.Thread("Main")
      .Marker(0)
      .MutexLock(10, 30, kMutex)
      .CondWait(30, 60, kCondition)
      .Sleep(60, 100)
      .Launch(100, 110, 1)
      .Marker(200);
  trace.Gpu().Kernel(110, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostLock), 20);
  EXPECT_EQ(analysed.Us(0, Line::kHostWaitThread), 30);
  EXPECT_EQ(analysed.Us(0, Line::kHostSleep), 40);
}

TEST(Attribution, TimedOutWait_HasNoWaker) {
  TraceBuilder trace;
  trace.Thread("Main")
      .Marker(0)
      .Wait(wire::OsCall::kPthreadCondTimedwait, 0, 100, kCondition, 110)
      .Launch(100, 110, 1)
      .Marker(200);
  trace.Thread("Other").Signal(50, kCondition);
  trace.Gpu().Kernel(110, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostWaitThread), 100);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 0);
}

TEST(Attribution, ChainOfWakers_IsFollowedToTheThreadThatWorked) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).CondWait(0, 90, kCondition).Launch(90, 100, 1).Marker(200);
  trace.Thread("Scheduler").MutexLock(5, 60, kMutex).Signal(85, kCondition);
  trace.Thread("Tokenizer").CudaMalloc(10, 50).Unlock(57, kMutex);
  trace.Gpu().Kernel(100, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 5 + 3);
  EXPECT_EQ(analysed.Us(0, Line::kHostAlloc), 40);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 25 + 7 + 10);
}

TEST(Attribution, TwoThreadsThatWakeEachOtherAtOneInstant_EndAsUnknown) {
  TraceBuilder trace;
  trace.Thread("A").Marker(0).CondWait(0, 50, kCondition).Signal(50, kMutex).Launch(50, 60, 1).Marker(100);
  trace.Thread("B").CondWait(0, 50, kMutex).Signal(50, kCondition);
  trace.Gpu().Kernel(60, 100, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kUnknownLost), 50);
  EXPECT_EQ(AnalysedTrace::Sum(analysed.steps()[0].lines), 100'000);
}

TEST(Attribution, SixtyFourHops_ThenTheRestIsUnknown) {
  TraceBuilder trace;
  // Two threads hand over to each other every microsecond, 100 times.
  trace.Thread("A").Marker(0);
  for (int i = 0; i < 100; i += 2) {
    trace.Thread("A").CondWait(i, i + 1, kCondition).Signal(i + 1.5, kMutex);
    trace.Thread("B").CondWait(i + 1, i + 2, kMutex).Signal(i + 0.5, kCondition);
  }
  trace.Thread("A").Launch(100, 110, 1).Marker(200);
  trace.Gpu().Kernel(110, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_GT(analysed.Us(0, Line::kUnknownLost), 30);
  EXPECT_LT(analysed.Us(0, Line::kUnknownLost), 40);
}

TEST(Attribution, OutsideInputWithNothingInFlight_IsIdle) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).EpollWait(20, 5020, 4).Launch(5050, 5060, 1).DeviceSync(5060, 5160).Marker(5160);
  trace.Gpu().Kernel(5060, 5160, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kIdleNoRequest), 5000);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 20 + 30);
  // The wait for a request is no part of what a token took.
  EXPECT_NEAR(static_cast<double>(analysed.Report().itl_max_ns), 160'000, 1);
  EXPECT_EQ(analysed.Report().wall_ns, 5'160'000);
}

TEST(Attribution, OutsideInputForLessThanAStep_IsIpc) {
  TraceBuilder trace;
  // An event loop whose waker is not seen hands each step over: no request is waited for, the next step is.
  trace.Thread("Main").Marker(0);
  for (int step = 0; step < 4; ++step) {
    const double t = step * 3000.0;
    trace.Thread("Main")
        .EpollWait(t + 100, t + 900, 4)
        .Launch(t + 950, t + 960, static_cast<uint32_t>(step + 1))
        .DeviceSync(t + 960, t + 2900)
        .Marker(t + 3000);
    trace.Gpu().Kernel(t + 960, t + 2890, static_cast<uint32_t>(step + 1), "gemm");
  }
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(2, Line::kHostIpc), 800);
  EXPECT_EQ(analysed.Us(2, Line::kIdleNoRequest), 0);
}

TEST(Attribution, OutsideInputWhileATokenIsInFlight_IsIpc) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).EpollWait(100, 180, 4).Marker(200);
  trace.Gpu().Kernel(10, 100, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostIpc), 80);
  EXPECT_EQ(analysed.Us(0, Line::kIdleNoRequest), 0);
}

TEST(Attribution, EpollWokenByAnotherThread_IsThatThreadsTime) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).EpollWait(0, 90, 4).Launch(90, 100, 1).Marker(200);
  trace.Thread("Api").WriteFd(80, 4).WriteFd(85, 4);
  trace.Gpu().Kernel(100, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 80);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 10);
}

TEST(Attribution, EventFdWhosePollSetWasNotTold_IsLearned) {
  TraceBuilder trace;
  // libuv adds the descriptor to its set through io_uring: nothing but the writes is seen.
  trace.Thread("Main").Marker(0);
  for (int step = 0; step < 10; ++step) {
    const double t = step * 1000.0;
    trace.Thread("Loop").EpollWait(t + 10, t + 700, 4).Signal(t + 720, kCondition);
    trace.Thread("Pool")
        .CudaMalloc(t + 100, t + 600)
        .Wait(wire::OsCall::kWrite, t + 690, t + 693, wire::FdObject(21), 8);
    trace.Thread("Main").CondWait(t + 20, t + 725, kCondition).Marker(t + 1000);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 10u);
  EXPECT_EQ(analysed.Us(0, Line::kHostAlloc), 0);  // not known yet
  EXPECT_EQ(analysed.Us(9, Line::kHostAlloc), 500);
  EXPECT_EQ(analysed.Us(9, Line::kHostWakeup), 10 + 5);
  EXPECT_EQ(analysed.Us(9, Line::kHostIpc), 0);
}

TEST(Attribution, RunDelay_SplitsOwnCode) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Sample(-10, 100, 0).Sample(1010, 355, 765).Marker(1000);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 250);
  EXPECT_EQ(analysed.Us(0, Line::kHostOffcpu), 750);
}

TEST(Attribution, LostRecords_AreUnknownWhereTheThreadSeemsToRun) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Lost(20, 60, 7).Launch(80, 90, 1).Marker(200);
  trace.Gpu().Kernel(90, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kUnknownLost), 40);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 40);
  EXPECT_EQ(analysed.Report().health.dropped, 7u);
}

TEST(Attribution, KernelBeforeItsOwnLaunch_IsClampedAndCounted) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(102, 110, 1).Marker(200);
  trace.Gpu().Kernel(100, 200, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGemm), 100);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 100);
  EXPECT_EQ(analysed.Report().health.clamped, 1u);
}

TEST(Attribution, OperationWithoutALaunch_LeavesItsGapUnknown) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).Marker(200);
  trace.Gpu().Kernel(10, 50, 1, "gemm").Kernel(80, 200, 99, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kUnknownLost), 30);
  EXPECT_EQ(analysed.Report().health.unmatched, 1u);
}

TEST(Attribution, LongBlockingCopy_ShowsOverWaitAndIdleInside) {
  // Seen in a real trace: 463 ms in a blocking copy with 0.03 ms of GPU work at its very end.
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).BlockingCopy(100, 463'100, 1, 4096).Marker(463'200);
  trace.Gpu().CopyD2h(463'054, 463'084, 1, 4096);
  AnalysedTrace analysed(&trace);
  const ProcessReport report = analysed.Report();
  ASSERT_EQ(report.syncs.size(), 1u);
  EXPECT_EQ(report.syncs[0].over_wait_ns, 16'000);
  EXPECT_EQ(report.syncs[0].idle_inside_ns, 463'000'000 - 30'000);
  EXPECT_EQ(analysed.Us(0, Line::kHostCopyApi), 463'054 - 100);
  EXPECT_EQ(analysed.Us(0, Line::kHostSyncOverwait), 16);
  EXPECT_EQ(analysed.Us(0, Line::kGpuCopyD2h), 30);
}

TEST(Attribution, QueryLoop_IsSpin) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).EventRecord(10, 12, 0x77);
  for (int i = 0; i < 10; ++i) trace.Thread("Main").EventQuery(100 + i * 10, 101 + i * 10, 0x77, i == 9);
  trace.Thread("Main").Marker(191);
  trace.Gpu().Kernel(10, 100, 1, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostSpin), 91);
}

TEST(Attribution, ProcessWithoutAGpu_IsWalkedBackFromTheMarker) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).CondWait(100, 700, kCondition).Marker(1000);
  trace.Thread("Worker").Signal(690, kCondition);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostWakeup), 10);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 990);
  EXPECT_EQ(analysed.Report().gpu, "");
}

TEST(Attribution, SyncWithoutCupti_IsUnknownNotOverWait) {
  TraceBuilder trace;
  trace.Thread("Main").WithFlags(wire::kCudaFlagNoCupti).Marker(0).Launch(0, 10, 0).DeviceSync(10, 110).Marker(200);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kUnknownLost), 100);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 10);
  EXPECT_EQ(analysed.Us(0, Line::kHostCpu), 90);
}

TEST(Attribution, HostTimeBehindGpuWork_IsHiddenNotCharged) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Launch(0, 10, 1).Launch(20, 50, 2).CudaMalloc(60, 80).DeviceSync(90, 200).Marker(200);
  trace.Thread("Idle").EpollWait(-500, 300, 3);
  trace.Gpu().Kernel(10, 150, 1, "gemm").Kernel(150, 200, 2, "gemm");
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.HiddenUs(0, Line::kHostLaunch), 30);
  EXPECT_EQ(analysed.HiddenUs(0, Line::kHostAlloc), 20);
  EXPECT_EQ(analysed.HiddenUs(0, Line::kHostIpc), 0);
  EXPECT_EQ(analysed.Us(0, Line::kHostAlloc), 0);
}

TEST(Attribution, DeviceWideWait_PartAfterTheReadBackIsUnneeded) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).OnStream(0x20).Launch(0, 5, 1).OnStream(0x10).Launch(5, 10, 2);
  trace.Thread("Main").CopyAsync(10, 15, 3, 8).DeviceSync(20, 805).Marker(900);
  trace.Gpu().OnStream(7).Kernel(20, 500, 2, "gemm").CopyD2h(500, 510, 3, 8);
  trace.Gpu().OnStream(8).Kernel(30, 800, 1, "nccl");
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.Report().syncs.size(), 1u);
  EXPECT_EQ(analysed.Report().syncs[0].unneeded_ns, 290'000);
  EXPECT_EQ(analysed.Report().syncs[0].over_wait_ns, 0);
}

TEST(Attribution, EventWait_LaterWorkOfTheStreamIsNotWaitedFor) {
  TraceBuilder trace;
  // The next step's graph runs behind the copy that the event stands for; the wait for the event returns 300 us late.
  trace.Thread("Main").Marker(0).Launch(0, 5, 1).CopyAsync(5, 10, 2, 8).EventRecord(10, 12, 0x99).Launch(12, 20, 3);
  trace.Thread("Main").EventSync(20, 900, 0x99).Marker(1000);
  trace.Gpu().Kernel(10, 590, 1, "gemm").CopyD2h(590, 600, 2, 8).Kernel(600, 1500, 3, "gemm");
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.Report().syncs.size(), 1u);
  EXPECT_EQ(analysed.Report().syncs[0].over_wait_ns, 300'000);
  EXPECT_EQ(analysed.Report().syncs[0].idle_inside_ns, 300'000);
  EXPECT_EQ(analysed.Report().syncs[0].unneeded_ns, 0);
  // The GPU worked all the while, so it cost the step nothing.
  EXPECT_EQ(analysed.Us(0, Line::kHostSyncOverwait), 0);
  EXPECT_EQ(analysed.HiddenUs(0, Line::kHostSyncOverwait), 300);
}

TEST(Attribution, CallsWhileCapturing_AreGraphBuild) {
  TraceBuilder trace;
  trace.Thread("Main")
      .Marker(0)
      .WithFlags(wire::kCudaFlagCapturing)
      .Launch(10, 40, 7)
      .WithFlags(0)
      .Cuda(wire::CudaCallClass::kGraphBuild, 40, 90)
      .GraphLaunch(90, 100, 8)
      .Marker(300);
  trace.Gpu().Graph(100, 290, 8);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kHostGraphBuild), 80);
  EXPECT_EQ(analysed.Us(0, Line::kHostLaunch), 10);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGraph), 190);
}

TEST(Attribution, ThreadsWithFarApartNumbers_AreKeptApart) {
  // Threads that are read from a process's memory are numbered from 0xC00000.
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).CondWait(10, 90, kCondition).Marker(100);
  trace.Thread("Other").Sleep(20, 70).Signal(80, kCondition);
  auto analysis = ProcessAnalysis::Create(ProcessInfo{}, &trace, {});
  Renumber renumber(analysis.get());
  trace.Feed(&renumber);
  analysis->Finish();
  const ProcessReport report = analysis->Report(0, 0);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostSleep)].ns, 50'000);
  EXPECT_EQ(report.lines[static_cast<int>(Line::kHostWakeup)].ns, 10'000);
  EXPECT_EQ(report.health.clamped, 0u);
}

TEST(Attribution, TwoDevices_TheOneThatDeliversIsCharged) {
  TraceBuilder trace;
  trace.Thread("Zero").OnStream(0x10).Launch(0, 5, 1);
  trace.Thread("One").OnStream(0x20).Marker(0).Launch(5, 10, 2).CopyAsync(10, 15, 3, 8).DeviceSync(15, 300).Marker(300);
  trace.Gpu(0).Kernel(10, 290, 1, "attention");
  trace.Gpu(1).Kernel(20, 100, 2, "gemm").CopyD2h(100, 110, 3, 8);
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.Us(0, Line::kGpuGemm), 80);
  EXPECT_EQ(analysed.Us(0, Line::kGpuAttention), 0);
  EXPECT_EQ(analysed.Us(0, Line::kHostSyncOverwait), 190);
}

}  // namespace
}  // namespace stallscope
