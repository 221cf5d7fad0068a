// Live: when a step closes while GPU records are still coming, and what it is charged when they do not come.
#include <gtest/gtest.h>

#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

void PlainStep(TraceBuilder* trace, int step, double t) {
  const auto id = static_cast<uint32_t>(step * 10 + 1);
  trace->Thread("Main")
      .Launch(t + 100, t + 120, id)
      .CopyAsync(t + 120, t + 125, id + 1, 4)
      .StreamSync(t + 125, t + 900)
      .Marker(t + 950);
  trace->Gpu().Kernel(t + 130, t + 880, id, "gemm").CopyD2h(t + 880, t + 885, id + 1);
}

TEST(Closing, LiveAndOffline_GiveTheSameSteps) {
  TraceBuilder trace;
  for (int step = 0; step < 200; ++step) {
    PlainStep(&trace, step, step * 5000.0);
    // Calls that are still running when a step ends, and a long one that spans many.
    trace.Thread("Other").CudaMalloc(step * 5000.0 + 800, step * 5000.0 + 4200);
  }
  trace.Thread("Poller").EpollWait(0, 700'000, 3);
  AnalysedTrace offline(&trace);
  const auto live = AnalysedTrace::Live(&trace, 3'000'000);
  ASSERT_EQ(live->steps().size(), 199u);
  ASSERT_EQ(offline.steps().size(), 199u);
  for (size_t i = 0; i < offline.steps().size(); ++i) {
    EXPECT_EQ(live->steps()[i].begin, offline.steps()[i].begin);
    EXPECT_EQ(live->steps()[i].end, offline.steps()[i].end);
    EXPECT_EQ(live->steps()[i].lines, offline.steps()[i].lines) << i;
    EXPECT_EQ(live->steps()[i].hidden, offline.steps()[i].hidden) << i;
  }
}

TEST(Closing, RoundsLongerThanTheReordering_GiveTheSameSteps) {
  TraceBuilder trace;
  trace.Thread("First").Sleep(0, 1'999'000);
  for (int step = 0; step < 400; ++step) {
    const double t = step * 5000.0;
    // The launches of one thread and the read-back of another: out of order they make other steps.
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    trace.Thread(step % 2 == 0 ? "Even" : "Odd")
        .GraphLaunch(t + 100, t + 120, id)
        .CopyAsync(t + 120, t + 125, id + 1, 4);
    trace.Thread("Reader").StreamSync(t + 125, t + 900);
    trace.Gpu().Graph(t + 130, t + 880, id).CopyD2h(t + 880, t + 885, id + 1);
  }
  AnalysedTrace offline(&trace);
  const auto live = AnalysedTrace::InRounds(&trace, 4'000'000, 700'000);
  ASSERT_GT(offline.steps().size(), 390u);
  ASSERT_EQ(live->steps().size(), offline.steps().size());
  for (size_t i = 0; i < offline.steps().size(); ++i) {
    ASSERT_EQ(live->steps()[i].end, offline.steps()[i].end) << i;
    EXPECT_EQ(live->steps()[i].lines, offline.steps()[i].lines) << i;
  }
}

TEST(Closing, MarksStop_WhatComesIsStillAttributed) {
  TraceBuilder trace;
  for (int step = 0; step < 2000; ++step) PlainStep(&trace, step, step * 5000.0);
  AnalysedTrace whole(&trace);
  const auto live = AnalysedTrace::Live(&trace, 10'000'000);
  TraceBuilder again;
  for (int step = 0; step < 2000; ++step) PlainStep(&again, step, step * 5000.0);
  auto analysis = ProcessAnalysis::Create({}, &again, {});
  analysis->OnState({kStateDrained, TraceBuilder::At(0), 0, ""});
  again.FeedLive(analysis.get(), 10'000'000);
  const uint64_t steps = analysis->Report(0, TraceBuilder::At(10'000'000)).steps;
  EXPECT_GT(steps, 1500u);  // all but the last two seconds
  EXPECT_LT(steps, live->steps().size());
}

TEST(Closing, SlowStepsWhileTheTokenIsLearned_AreAttributedInFull) {
  // Sixteen deliveries are held until it is decided which read-back is the token; that takes 0.8 s here.
  TraceBuilder trace;
  for (int step = 0; step < 24; ++step) {
    const double t = step * 50'000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    trace.Thread("Main")
        .GraphLaunch(t + 100, t + 120, id)
        .CopyAsync(t + 120, t + 125, id + 1, 4)
        .StreamSync(t + 125, t + 40'000);
    trace.Gpu().Graph(t + 130, t + 30'000, id).CopyD2h(t + 30'000, t + 30'005, id + 1);
  }
  const auto live = AnalysedTrace::Live(&trace, 3'000'000);
  ASSERT_EQ(live->steps().size(), 23u);
  for (size_t i = 0; i < live->steps().size(); ++i) {
    EXPECT_EQ(live->Us(i, Line::kGpuGraph), 29'870) << i;
    EXPECT_EQ(live->Us(i, Line::kHostSyncOverwait), 9'995) << i;
  }
}

TEST(Closing, RecordStillMissing_StepWaitsForIt) {
  TraceBuilder trace;
  PlainStep(&trace, 0, 0);
  trace.Gpu().RecordsLate(1'200'000);
  PlainStep(&trace, 1, 1000);
  EXPECT_EQ(AnalysedTrace::Live(&trace, 1'000'000)->steps().size(), 0u);
  const auto later = AnalysedTrace::Live(&trace, 1'500'000);
  ASSERT_EQ(later->steps().size(), 1u);
  EXPECT_FALSE(later->steps()[0].late);
  EXPECT_EQ(later->Us(0, Line::kUnknownLate), 0);
  EXPECT_EQ(later->Report().health.late, 0u);
}

TEST(Closing, RecordNeverComes_StepClosesAtTheLimitAsUnknownLate) {
  TraceBuilder trace;
  PlainStep(&trace, 0, 0);
  trace.Thread("Main").Launch(1100, 1120, 100).StreamSync(1125, 1800).Marker(1950);
  const auto early = AnalysedTrace::Live(&trace, 1'900'000);
  EXPECT_EQ(early->steps().size(), 0u);
  const auto late = AnalysedTrace::Live(&trace, 2'400'000);
  ASSERT_EQ(late->steps().size(), 1u);
  EXPECT_TRUE(late->steps()[0].late);
  // From the launch until the wait for its stream returned the GPU may have been busy.
  EXPECT_EQ(late->Us(0, Line::kUnknownLate), 680);
  EXPECT_EQ(late->Us(0, Line::kHostLaunch), 20);
  EXPECT_EQ(late->Us(0, Line::kHostSyncOverwait), 0);
  EXPECT_EQ(late->Report().health.late, 1u);
  EXPECT_EQ(late->Report().health.unmatched, 1u);
}

TEST(Closing, RecordsComeAfterTheLimit_StepIsCorrected) {
  TraceBuilder trace;
  PlainStep(&trace, 0, 0);
  trace.Gpu().RecordsLate(3'000'000);
  PlainStep(&trace, 1, 1000);
  AnalysedTrace complete(&trace);
  const auto late = AnalysedTrace::Live(&trace, 2'900'000);
  ASSERT_EQ(late->steps().size(), 1u);
  EXPECT_TRUE(late->steps()[0].late);
  EXPECT_EQ(late->Us(0, Line::kGpuGemm), 0);
  const auto corrected = AnalysedTrace::Live(&trace, 4'000'000);
  ASSERT_EQ(corrected->steps().size(), 1u);
  EXPECT_FALSE(corrected->steps()[0].late);
  EXPECT_EQ(corrected->Us(0, Line::kGpuGemm), 750);
  EXPECT_EQ(corrected->steps()[0].lines, complete.steps()[0].lines);
  EXPECT_EQ(corrected->steps()[0].hidden, complete.steps()[0].hidden);
  const ProcessReport report = corrected->Report();
  for (size_t i = 0; i < kLineCount; ++i) EXPECT_EQ(report.lines[i].ns, complete.steps()[0].lines[i]) << i;
  EXPECT_EQ(report.health.late, 2u);  // the records; the step is none any more
}

TEST(Closing, OneOfTwoRecordsComesAfterTheLimit_StepStaysLate) {
  TraceBuilder trace;
  PlainStep(&trace, 0, 0);
  trace.Gpu().RecordsLate(3'000'000);
  trace.Thread("Main").Launch(1100, 1120, 100).Launch(1120, 1130, 101).StreamSync(1135, 1800).Marker(1950);
  trace.Gpu().Kernel(1130, 1500, 100, "gemm");
  const auto live = AnalysedTrace::Live(&trace, 4'000'000);
  ASSERT_EQ(live->steps().size(), 1u);
  EXPECT_TRUE(live->steps()[0].late);
  EXPECT_EQ(AnalysedTrace::Sum(live->steps()[0].lines), 1'000'000);
}

TEST(Closing, RecordsComeLongAfterTheLimit_StepStaysAsItWasTold) {
  TraceBuilder trace;
  PlainStep(&trace, 0, 0);
  trace.Gpu().RecordsLate(9'000'000);
  PlainStep(&trace, 1, 1000);
  const auto live = AnalysedTrace::Live(&trace, 10'000'000);
  ASSERT_EQ(live->steps().size(), 1u);
  EXPECT_TRUE(live->steps()[0].late);
}

// The GPU's records fail for a while at the rate of an eager decode loop. The cost of a step must not grow with the number
// of launches that still miss theirs: live, the collector would stop taking events and answering.
TEST(Closing, ManyRecordsNeverCome_EachStepCostsItsOwnLaunchesOnly) {
  constexpr int kSteps = 3000, kLaunches = 40;
  constexpr double kStepUs = 400;
  TraceBuilder trace;
  uint32_t id = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double t = step * kStepUs;
    for (int i = 0; i < kLaunches; ++i) {
      const double at = t + 10 + i * 5;
      trace.Thread("Main").Launch(at, at + 3, ++id);
      if (step < 2) trace.Gpu().Kernel(at + 3, at + 5, id, "gemm");
    }
    trace.Thread("Main").EventRecord(t + 215, t + 216, 1).EventSync(t + 220, t + 390, 1).Marker(t + 395);
  }
  const auto live = AnalysedTrace::Live(&trace, 5'000'000);
  ASSERT_EQ(live->steps().size(), kSteps - 1u);
  EXPECT_FALSE(live->steps()[0].late);
  EXPECT_TRUE(live->steps()[1000].late);
  EXPECT_EQ(AnalysedTrace::Sum(live->steps()[1000].lines), 400'000);
}

TEST(Closing, StepsThatWaitForRecords_LeaveTheWindowBeforeThem) {
  TraceBuilder trace;
  for (int step = 0; step < 50; ++step) PlainStep(&trace, step, step * 50'000.0);
  trace.Gpu().RecordsLate(10'000'000);
  for (int step = 50; step < 90; ++step) PlainStep(&trace, step, step * 50'000.0);
  const auto live = AnalysedTrace::Live(&trace, 4'300'000);
  // The last step known to be complete ended at 2.45 s.
  const ProcessReport report = live->Report(1'000'000'000, TraceBuilder::At(4'300'000));
  EXPECT_GT(report.steps, 15u);
  ASSERT_EQ(report.notices.size(), 1u);
  EXPECT_EQ(report.notices[0], "the steps of the last 1800 ms wait for GPU records: the window ends before them");
}

TEST(Closing, LaunchWithoutCupti_WaitsForNothing) {
  TraceBuilder trace;
  trace.Thread("Main").WithFlags(wire::kCudaFlagNoCupti).Marker(0).Launch(10, 20, 7).DeviceSync(20, 90).Marker(100);
  EXPECT_EQ(AnalysedTrace::Live(&trace, 300'000)->steps().size(), 1u);
}

TEST(Closing, FailedOrCapturedLaunch_WaitsForNothing) {
  TraceBuilder trace;
  trace.Thread("Main").Marker(0).Cuda(wire::CudaCallClass::kLaunch, 10, 20, 7, 0, wire::CopyKind::kUnknown, 700);
  trace.Thread("Main").WithFlags(wire::kCudaFlagCapturing).Launch(30, 40, 8).Marker(100);
  EXPECT_EQ(AnalysedTrace::Live(&trace, 300'000)->steps().size(), 1u);
}

TEST(Closing, GraphWhoseNodesAreTraced_WaitsForAllItsRecords) {
  TraceBuilder trace;
  constexpr uint64_t kExec = 0x77;
  for (int step = 0; step < 4; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step + 1);
    trace.Thread("Main").GraphLaunch(t + 10, t + 20, id, kExec).DeviceSync(t + 20, t + 500).Marker(t + 600);
    trace.Gpu().Kernel(t + 20, t + 200, id, "gemm", 5).Kernel(t + 200, t + 300, id, "flash_fwd", 5);
    if (step == 3) trace.Gpu().RecordsLate(1'000'000);
    trace.Gpu().Kernel(t + 300, t + 400, id, "rms_norm", 5);
  }
  // The last step's last node comes a second late; from launches before it is known that there are three.
  EXPECT_EQ(AnalysedTrace::Live(&trace, 900'000)->steps().size(), 2u);
  const auto live = AnalysedTrace::Live(&trace, 1'500'000);
  ASSERT_EQ(live->steps().size(), 3u);
  EXPECT_EQ(live->Us(2, Line::kGpuNormAct), 100);
  EXPECT_FALSE(live->steps()[2].late);
}

TEST(Closing, Windows_ForgetWhatIsOlder) {
  TraceBuilder trace;
  for (int step = 0; step < 100; ++step) PlainStep(&trace, step, step * 100'000.0);
  const auto live = AnalysedTrace::Live(&trace, 11'000'000);
  const HostNs now = TraceBuilder::At(11'000'000);
  EXPECT_EQ(live->Report(0, now).steps, 99u);
  const ProcessReport recent = live->Report(5'000'000'000, now);
  EXPECT_GT(recent.steps, 35u);
  EXPECT_LE(recent.steps, 60u);
  EXPECT_EQ(live->Report(1'000'000'000, now + 60'000'000'000).steps, 0u);
}

TEST(Closing, IdleForMinutes_TheLongWaitIsNoStep) {
  TraceBuilder trace;
  PlainStep(&trace, 0, 0);
  PlainStep(&trace, 1, 1000);
  trace.Thread("Main").EpollWait(2000, 120'002'000, 4);
  PlainStep(&trace, 2, 120'002'000);
  PlainStep(&trace, 3, 120'003'000);
  const auto live = AnalysedTrace::Live(&trace, 125'000'000);
  ASSERT_EQ(live->steps().size(), 3u);
  // At most half a minute before a delivery is still attributed; it was idle.
  EXPECT_GT(live->Us(1, Line::kIdleNoRequest), 29'000'000);
  EXPECT_EQ(live->Us(1, Line::kUnknownLost), 0);
  EXPECT_LT(live->Report().itl_max_ns, 2'000'000);
}

}  // namespace
}  // namespace stallscope
