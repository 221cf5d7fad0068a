// Whole traces through the public interface: where steps begin and end, how many tokens they deliver, how sure that is.
#include <gtest/gtest.h>

#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

std::vector<double> Ends(const AnalysedTrace& analysed) {
  std::vector<double> ends;
  for (const StepRecord& step : analysed.steps()) {
    ends.push_back(static_cast<double>(step.end - TraceBuilder::kOrigin) / 1000);
  }
  return ends;
}

// A decode step of 1000 us by one thread on one stream: a graph, the copy of the ids, a wait for the stream.
void PlainStep(TraceBuilder* trace, int step, uint64_t bytes) {
  const double t = step * 1000.0;
  const auto id = static_cast<uint32_t>(step * 10 + 1);
  trace->Thread("Main")
      .GraphLaunch(t + 100, t + 120, id)
      .CopyAsync(t + 120, t + 125, id + 1, bytes)
      .StreamSync(t + 125, t + 900);
  trace->Gpu().Graph(t + 130, t + 880, id).CopyD2h(t + 880, t + 885, id + 1, bytes);
}

TEST(TokenDelivery, GraphCopyAndStreamSync_IsOneStepEach) {
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) PlainStep(&trace, step, 32);
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(Ends(analysed).front(), 1900);
  EXPECT_EQ(analysed.steps()[0].tokens, 8u);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.segmentation_method, "token delivery");
  EXPECT_EQ(report.tokens_source, "copy size");
  EXPECT_GT(report.segmentation_confidence, 0.9);
  EXPECT_LT(report.segmentation_confidence, 1.0);  // nobody confirmed it
  EXPECT_EQ(report.wall_ns, 19'000'000);
}

TEST(TokenDelivery, AsynchronousScheduling_EventDecidesNotLaunchOrder) {
  // vLLM: step N+1 is launched by Main before another thread waits for the event behind step N's copy on a side stream.
  TraceBuilder trace;
  constexpr uint64_t kMain = 0x10, kSide = 0x20;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    const uint64_t computed = 0x100 + static_cast<uint64_t>(step % 2), copied = 0x200 + static_cast<uint64_t>(step % 2);
    trace.Thread("Main").OnStream(kMain).GraphLaunch(t, t + 20, id).EventRecord(t + 20, t + 22, computed);
    trace.Thread("Main")
        .OnStream(kSide)
        .StreamWaitEvent(t + 22, t + 24, computed)
        .CopyAsync(t + 24, t + 30, id + 1, 16)
        .EventRecord(t + 30, t + 32, copied);
    // The GPU needs 1400 us from the launch: the wait for step N returns after step N+1 was launched.
    trace.Thread("AsyncOutput").EventSync(t + 40, t + 1400, copied);
    trace.Gpu().OnStream(7).Graph(t + 400, t + 1390, id);
    trace.Gpu().OnStream(13).CopyD2h(t + 1391, t + 1395, id + 1, 16);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  for (const StepRecord& step : analysed.steps()) {
    EXPECT_EQ(step.end - step.begin, 1'000'000);
    EXPECT_EQ(step.tokens, 4u);
  }
  EXPECT_EQ(Ends(analysed).front(), 2400);
}

TEST(TokenDelivery, LaunchByAnotherThreadDuringTheWait_BelongsToTheNextStep) {
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    // All on one stream: the wait for step N is on while step N+1 is put behind it.
    trace.Thread("Launcher").GraphLaunch(t, t + 20, id).CopyAsync(t + 20, t + 30, id + 1, 4);
    trace.Thread("Waiter").StreamSync(t + 40, t + 1035);
  }
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.steps().size(), 19u);
}

TEST(TokenDelivery, ThreeReadBacksAStep_MergeIntoOne) {
  // TGI: three pageable copies, of which the first waits for the GPU.
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    trace.Thread("Main")
        .GraphLaunch(t, t + 20, id)
        .PageableCopy(t + 20, t + 800, id + 1, 16)
        .StreamSync(t + 800, t + 801)
        .PageableCopy(t + 810, t + 830, id + 2, 32)
        .StreamSync(t + 830, t + 831)
        .PageableCopy(t + 840, t + 860, id + 3, 32)
        .StreamSync(t + 860, t + 861);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(Ends(analysed).front(), 1800);
}

TEST(TokenDelivery, ReadBackInMidStep_IsNoStep) {
  // FlashInfer's plan reads a few numbers back before the graph is launched, on the same stream.
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 100 + 1);
    for (uint32_t k = 0; k < 10; ++k) trace.Thread("Main").Launch(t + k * 5, t + k * 5 + 4, id + k);
    trace.Thread("Main").CopyAsync(t + 60, t + 62, id + 20, 16).StreamSync(t + 62, t + 90);
    trace.Thread("Main")
        .GraphLaunch(t + 100, t + 120, id + 21)
        .CopyAsync(t + 120, t + 122, id + 22, 16)
        .StreamSync(t + 122, t + 900);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(Ends(analysed).front(), 1900);
}

TEST(TokenDelivery, ExpertIdsReadBackEachLayer_TheScoresAreTheToken) {
  // llama.cpp without the fused path: each expert layer reads its ids back; the scores come once, larger than 1 MiB.
  TraceBuilder trace;
  constexpr uint64_t kScores = uint64_t{4} * 151936 * 4;
  uint32_t id = 1;
  double t = 0;
  for (int step = 0; step < 24; ++step) {
    for (int layer = 0; layer < 12; ++layer) {
      for (int k = 0; k < 20; ++k, t += 5) trace.Thread("Main").Launch(t, t + 4, id++);
      trace.Thread("Main").CopyAsync(t, t + 2, id++, 64).StreamSync(t + 2, t + 20);
      t += 25;
    }
    for (int k = 0; k < 3; ++k, t += 5) trace.Thread("Main").Launch(t, t + 4, id++);
    trace.Thread("Main").CopyAsync(t, t + 2, id++, kScores).StreamSync(t + 2, t + 60);
    t += 80;
  }
  AnalysedTrace analysed(&trace);
  // Once the scores have been seen four times they are the token; until then the steps are wrong, and said to be
  // unsure.
  ASSERT_GT(analysed.steps().size(), 20u);
  const double step_us = 12 * (20 * 5 + 25) + 3 * 5 + 80;
  for (size_t i = analysed.steps().size() - 18; i < analysed.steps().size(); ++i) {
    EXPECT_EQ(static_cast<double>(analysed.steps()[i].end - analysed.steps()[i].begin), step_us * 1000) << i;
  }
}

TEST(TokenDelivery, ScoresLargerThanALimit_CountWhenNothingSmallerComes) {
  TraceBuilder trace;
  constexpr uint64_t kRow = uint64_t{4} * 151936;
  for (int step = 0; step < 20; ++step) PlainStep(&trace, step, step == 0 ? kRow : 4 * kRow);
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(analysed.steps()[5].tokens, 4u);
}

TEST(TokenDelivery, VocabularyGiven_RowsAreCounted) {
  TraceBuilder trace;
  constexpr uint64_t kRow = uint64_t{4} * 32000;
  for (int step = 0; step < 20; ++step) PlainStep(&trace, step, 6 * kRow);
  AnalysisOptions options;
  options.vocabulary = 32000;
  AnalysedTrace analysed(&trace, options);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(analysed.steps()[0].tokens, 6u);
}

TEST(TokenDelivery, QueryThatTurnsSuccessful_Delivers) {
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    trace.Thread("Main")
        .GraphLaunch(t, t + 20, id)
        .CopyAsync(t + 20, t + 25, id + 1, 4)
        .EventRecord(t + 25, t + 27, 0x99);
    for (int i = 0; i < 9; ++i) trace.Thread("Main").EventQuery(t + 100 + i * 90, t + 101 + i * 90, 0x99, i == 8);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(Ends(analysed).front(), 1821);
}

TEST(TokenDelivery, PageableCopyThatHadNotToWait_IsReadAfterTheEvent) {
  // Now and then a copy is done before its call could wait, and so looks like one to pinned memory.
  TraceBuilder trace;
  for (int step = 0; step < 40; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    trace.Thread("Main").GraphLaunch(t, t + 20, id);
    if (step % 16 == 15) {
      trace.Thread("Main").CopyAsync(t + 700, t + 705, id + 1, 4);
    } else {
      trace.Thread("Main").PageableCopy(t + 25, t + 705, id + 1, 4);
    }
    trace.Thread("Main").EventRecord(t + 706, t + 707, 0x99).EventSync(t + 708, t + 710, 0x99);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 39u);
  for (const StepRecord& step : analysed.steps()) EXPECT_NEAR(step.end - step.begin, 1'000'000, 5'000);
}

TEST(TokenDelivery, OtherReadBackBesidePageableTokens_IsNoStep) {
  // The same kind of wait and the same stream, but not the token's copy.
  TraceBuilder trace;
  for (int step = 0; step < 40; ++step) {
    const double t = step * 1000.0;
    const auto id = static_cast<uint32_t>(step * 10 + 1);
    trace.Thread("Main")
        .GraphLaunch(t, t + 20, id)
        .CopyAsync(t + 20, t + 25, id + 1, 64)
        .EventRecord(t + 25, t + 26, 0x99)
        .EventSync(t + 26, t + 400, 0x99)
        .GraphLaunch(t + 410, t + 420, id + 2)
        .GraphLaunch(t + 420, t + 425, id + 4)
        .PageableCopy(t + 425, t + 900, id + 3, 4);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 39u);
  EXPECT_EQ(Ends(analysed).front(), 1900);
}

TEST(TokenDelivery, EagerKernelsOnly_CountAsForwardWork) {
  TraceBuilder trace;
  uint32_t id = 1;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    for (int k = 0; k < 40; ++k) trace.Thread("Main").Launch(t + k * 10, t + k * 10 + 5, id++);
    trace.Thread("Main").BlockingCopy(t + 500, t + 900, id++, 4);
  }
  AnalysedTrace analysed(&trace);
  EXPECT_EQ(analysed.steps().size(), 19u);
}

TEST(TokenDelivery, SyncsWithoutReadBack_AreNoSteps) {
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) {
    const double t = step * 1000.0;
    trace.Thread("Main").GraphLaunch(t, t + 20, static_cast<uint32_t>(step + 1)).DeviceSync(t + 20, t + 900);
  }
  AnalysedTrace analysed(&trace);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.segmentation_method, "none");
  EXPECT_NE(report.segmentation_why.find("device-to-host copy"), std::string::npos) << report.segmentation_why;
}

TEST(Engine, WithoutCuda_DecodeCallsAreTheSteps) {
  TraceBuilder trace;
  // Two prompt chunks without reads, then decode steps of two sequences.
  trace.Thread("Main").EngineDecode(0, 512).EngineDecode(300, 512);
  for (int step = 0; step < 5; ++step) {
    const double t = 1000.0 * (step + 1);
    trace.Thread("Main").EngineToken(t - 50).EngineToken(t - 40).EngineDecode(t, 2);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 4u);
  EXPECT_EQ(Ends(analysed), (std::vector<double>{2000, 3000, 4000, 5000}));
  EXPECT_EQ(analysed.steps()[0].tokens, 2u);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.segmentation_method, "engine");
  EXPECT_EQ(report.tokens_source, "engine");
}

TEST(Engine, WithCuda_CountsTokensAndConfirmsTheDeliveries) {
  TraceBuilder trace;
  for (int step = 0; step < 30; ++step) {
    const double t = step * 1000.0;
    trace.Thread("Main").EngineDecode(t + 50, 3);
    PlainStep(&trace, step, 3 * 4096 * 4);
    trace.Thread("Main").EngineToken(t + 910).EngineToken(t + 920).EngineToken(t + 930);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 29u);
  for (const StepRecord& step : analysed.steps()) EXPECT_EQ(step.tokens, 3u);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.segmentation_method, "token delivery");
  EXPECT_EQ(report.tokens_source, "engine");
  EXPECT_EQ(report.segmentation_confidence, 1.0);
}

TEST(Marker, WinsOverDeliveries) {
  TraceBuilder trace;
  for (int step = 0; step < 20; ++step) {
    PlainStep(&trace, step, 4);
    trace.Thread("Main").Marker(step * 1000.0 + 950, 5);
  }
  AnalysedTrace analysed(&trace);
  ASSERT_EQ(analysed.steps().size(), 19u);
  EXPECT_EQ(Ends(analysed).front(), 1950);
  EXPECT_EQ(analysed.steps()[0].tokens, 5u);
  EXPECT_EQ(analysed.Report().segmentation_method, "marker");
}

TEST(GraphCadence, NoReadBackAtAll_FallsBackToTheGraph) {
  TraceBuilder trace;
  uint32_t id = 1;
  for (int step = 0; step < 100; ++step) {
    const double t = step * 1000.0;
    trace.Thread("Main").GraphLaunch(t, t + 20, id, 0xa);
    trace.Gpu().Graph(t + 20, t + 900, id++);
  }
  AnalysedTrace analysed(&trace);
  EXPECT_GT(analysed.steps().size(), 30u);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.segmentation_method, "graph cadence");
  EXPECT_LE(report.segmentation_confidence, 0.5);
  EXPECT_EQ(report.tokens_source, "steps only");
}

TEST(Segmentation, NothingSeen_SaysWhatIsMissing) {
  TraceBuilder trace;
  trace.Thread("Main").CondWait(0, 100, 1);
  AnalysedTrace analysed(&trace);
  const ProcessReport report = analysed.Report();
  EXPECT_EQ(report.steps, 0u);
  EXPECT_EQ(report.segmentation_method, "none");
  EXPECT_FALSE(report.segmentation_why.empty());
}

}  // namespace
}  // namespace stallscope
