// The identity that the product promises, on thousands of random traces: lines sum to wall time exactly, in integer
// nanoseconds.
//
// The traces are nonsense on purpose: overlapping operations, missing launches, records before their launches, losses,
// nested calls, wake-ups of nobody. Seeds are fixed, so a failure repeats.
#include <gtest/gtest.h>

#include <random>

#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

class RandomTrace {
 public:
  explicit RandomTrace(uint32_t seed) : random_(seed) {}

  void Build(TraceBuilder* trace) {
    const int threads = 1 + Upto(4);
    const double length = 500 + Upto(5000);
    for (int t = 0; t < threads; ++t) BuildThread(trace, "thread " + std::to_string(t), length);
    const char* const kNames[] = {"gemm", "flash_fwd_kernel", "FillFunctor", "rms_norm", "argmax", "nccl", "x"};
    for (uint32_t device = 0; device < 1 + static_cast<uint32_t>(Upto(2)); ++device) {
      const int ops = Upto(60);
      for (int i = 0; i < ops; ++i) {
        const double begin = Upto(static_cast<int>(length)) + 0.001 * Upto(1000);
        const double end = begin + (Upto(5) == 0 ? Upto(800) : Upto(40)) + 0.001 * Upto(1000);
        const auto correlation = static_cast<uint32_t>(Upto(static_cast<int>(correlation_) + 20));
        TraceBuilder::GpuTrace& gpu = trace->Gpu(device).OnStream(static_cast<uint32_t>(7 + Upto(3)));
        switch (Upto(6)) {
          case 0:
            gpu.CopyD2h(begin, end, correlation, 4 << Upto(10));
            break;
          case 1:
            gpu.Memset(begin, end, correlation);
            break;
          case 2:
            gpu.Graph(begin, end, correlation);
            break;
          default:
            gpu.Kernel(begin, end, correlation, kNames[Upto(7)]);
        }
      }
    }
  }

 private:
  int Upto(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  void BuildThread(TraceBuilder* trace, const std::string& name, double length) {
    TraceBuilder::ThreadTrace& thread = trace->Thread(name);
    double now = Upto(50);
    thread.Sample(-10, 10, 10).Sample(length / 2, length / 3, 10 + Upto(300)).Sample(length, length / 2, 500);
    if (Upto(4) == 0) thread.Lost(Upto(400), 400 + Upto(400), 5);
    if (Upto(3) == 0) thread.WithFlags(Upto(2) == 0 ? wire::kCudaFlagNoCupti : wire::kCudaFlagCapturing);
    while (now < length) {
      thread.OnStream(0x5000 + static_cast<uint64_t>(Upto(3)));
      AddCall(&thread, now, 1 + Upto(120), 0);
      now += 121 + Upto(40) + 0.001 * Upto(1000);
      if (Upto(4) == 0) thread.WithFlags(0);
    }
  }

  void AddCall(TraceBuilder::ThreadTrace* thread, double begin, double length, int depth) {
    const double end = begin + length;
    const uint64_t object = 0x100 + static_cast<uint64_t>(Upto(4));
    if (depth < 3 && length > 10 && Upto(3) == 0) {  // nested calls end first
      AddCall(thread, begin + length / 8, length / 3, depth + 1);
      AddCall(thread, begin + length / 2, length / 4, depth + 1);
    }
    switch (Upto(20)) {
      case 0:
      case 1:
        thread->Marker(end, static_cast<uint64_t>(Upto(5)));
        break;
      case 2:
        thread->MutexLock(begin, end, object).Unlock(end, object);
        break;
      case 3:
        thread->CondWait(begin, end, object).Signal(end, 0x100 + static_cast<uint64_t>(Upto(4)));
        break;
      case 4:
        thread->EpollWait(begin, end, Upto(4), Upto(2)).WriteFd(end, Upto(4));
        break;
      case 5:
        thread->DeviceSync(begin, end);
        break;
      case 6:
        thread->StreamSync(begin, end);
        break;
      case 7:
        thread->EventSync(begin, end, object);
        break;
      case 8:
        thread->EventRecord(begin, end, object);
        break;
      case 9:
        thread->StreamWaitEvent(begin, end, object);
        break;
      case 10:
        thread->CopyAsync(begin, end, ++correlation_, 4 << Upto(20));
        break;
      case 11:
        thread->BlockingCopy(begin, end, ++correlation_, 64);
        break;
      case 12:
        thread->CudaMalloc(begin, end);
        break;
      case 13:
        thread->EventQuery(begin, end, object, Upto(2) == 0);
        break;
      case 14:
        thread->Sleep(begin, end);
        break;
      case 15:
        thread->GraphLaunch(begin, end, ++correlation_, 0x6000 + static_cast<uint64_t>(Upto(2)));
        break;
      default:
        thread->Launch(begin, end, ++correlation_);
    }
  }

  std::mt19937 random_;
  uint32_t correlation_ = 0;
};

void ExpectIdentity(const AnalysedTrace& analysed, uint32_t seed) {
  int64_t wall_ns = 0;
  HostNs last_end = INT64_MIN;
  for (const StepRecord& step : analysed.steps()) {
    ASSERT_EQ(AnalysedTrace::Sum(step.lines), step.end - step.begin) << "seed " << seed << " step " << step.index;
    ASSERT_GE(step.begin, last_end) << "seed " << seed;
    last_end = step.end;
    wall_ns += step.end - step.begin;
    for (size_t i = 0; i < kLineCount; ++i) {
      ASSERT_GE(step.lines[i], 0) << "seed " << seed << " step " << step.index << " " << kLines[i].name;
      ASSERT_GE(step.hidden[i], 0) << "seed " << seed << " step " << step.index << " hidden " << kLines[i].name;
    }
  }
  const ProcessReport report = analysed.Report();
  ASSERT_EQ(report.wall_ns, wall_ns) << "seed " << seed;
  int64_t sum = 0;
  for (const LineReport& line : report.lines) sum += line.ns;
  ASSERT_EQ(sum, wall_ns) << "seed " << seed;
  ASSERT_EQ(report.steps, analysed.steps().size());
  for (const SyncReport& sync : report.syncs) {
    ASSERT_GE(sync.over_wait_ns, 0);
    ASSERT_LE(sync.over_wait_ns, sync.total_ns);
    ASSERT_GE(sync.idle_inside_ns, 0);
    ASSERT_LE(sync.idle_inside_ns, sync.total_ns);
    ASSERT_GE(sync.unneeded_ns, 0);
    ASSERT_LE(sync.unneeded_ns, sync.total_ns);
  }
}

TEST(Identity, RandomTraces_LinesSumToWallExactly) {
  uint64_t steps = 0;
  for (uint32_t seed = 1; seed <= 4000; ++seed) {
    TraceBuilder trace;
    RandomTrace(seed).Build(&trace);
    AnalysedTrace analysed(&trace);
    ExpectIdentity(analysed, seed);
    if (HasFatalFailure()) return;
    steps += analysed.steps().size();
  }
  EXPECT_GT(steps, 8000u);  // the traces do hold steps
}

TEST(Identity, RandomTracesLive_LinesSumToWallExactly) {
  AnalysisOptions options;
  options.late_limit_ns = 300'000'000;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    TraceBuilder trace;
    RandomTrace(seed).Build(&trace);
    const auto analysed = AnalysedTrace::Live(&trace, 2'000'000, options);
    ExpectIdentity(*analysed, seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace stallscope
