// How many events a second one core takes, with attribution on: a decode step as vLLM-like servers make it, fed as it
// comes live.
//
// Per step: 40 launches and a graph, 45 GPU operations, 4 threads that wait for and wake each other, copies, events, a
// wait.
#include <benchmark/benchmark.h>

#include <vector>

#include "collector/budget/process_analysis.h"
#include "collector/budget/trace_builder.h"

namespace stallscope {
namespace {

// Plain arrays, so that what is measured is the analysis and not the feeding.
struct Events {
  std::vector<CudaCallEvent> calls;
  std::vector<WaitEvent> waits;
  std::vector<WakeEvent> wakes;
  std::vector<GpuOpEvent> ops;
  size_t size() const { return calls.size() + waits.size() + wakes.size() + ops.size(); }
};

class Recorder final : public EventSink {
 public:
  explicit Recorder(Events* events) : events_(*events) {}
  void OnWait(const WaitEvent& wait) override { events_.waits.push_back(wait); }
  void OnWake(const WakeEvent& wake) override { events_.wakes.push_back(wake); }
  void OnCudaCall(const CudaCallEvent& call) override { events_.calls.push_back(call); }
  void OnGpuOp(const GpuOpEvent& op) override { events_.ops.push_back(op); }

 private:
  Events& events_;
};

constexpr double kStepUs = 5000;

void BuildStep(TraceBuilder* trace) {
  constexpr uint64_t kMutex = 0x100, kQueue = 0x200, kOutput = 0x300;
  const char* const kNames[] = {"cutlass::Kernel2<gemm>", "flash_fwd_splitkv_kernel", "rms_norm_kernel",
                                "FillFunctor<int>"};
  auto& main = trace->Thread("Main");
  double t = 20;
  main.MutexLock(0, 10, kMutex).CondWait(10, 18, kQueue).OnStream(0x5000);
  double gpu = 60;
  for (uint32_t k = 1; k <= 40; ++k, t += 30) {
    main.Launch(t, t + 6, k);
    trace->Gpu().OnStream(7).Kernel(gpu, gpu + 70, k, kNames[k % 4]);
    gpu += 75;
  }
  main.GraphLaunch(t, t + 40, 41).EventRecord(t + 40, t + 42, 0x900);
  main.OnStream(0x6000).StreamWaitEvent(t + 43, t + 44, 0x900).CopyAsync(t + 44, t + 50, 42, 128);
  main.CopyAsync(t + 50, t + 55, 43, 128).EventRecord(t + 55, t + 57, 0x901);
  trace->Gpu().Graph(gpu, gpu + 900, 41);
  trace->Gpu().OnStream(13).CopyD2h(gpu + 901, gpu + 903, 42, 128).CopyD2h(gpu + 903, gpu + 905, 43, 128);
  main.EventSync(t + 60, gpu + 960, 0x901).Signal(gpu + 965, kOutput).Unlock(gpu + 970, kMutex);
  trace->Thread("Output").CondWait(100, gpu + 968, kOutput).MutexLock(gpu + 969, gpu + 972, kMutex);
  trace->Thread("Input").EpollWait(0, 2000, 5).Signal(2010, kQueue).EpollWait(2020, 4800, 5);
  trace->Thread("Api")
      .EpollWait(0, 1000, 6)
      .WriteFd(1100, 5)
      .EpollWait(1200, 3000, 6)
      .WriteFd(3100, 5)
      .MutexLock(3200, 3220, kMutex);
}

// The worst case for attribution: every kernel ends a gap, and each gap is walked back over a hand-over between
// threads.
void BuildLaunchBoundStep(TraceBuilder* trace) {
  constexpr uint64_t kQueue = 0x200, kBack = 0x201;
  uint32_t k = 1;
  double t = 10;
  for (; k <= 40; ++k, t += 100) {
    trace->Thread("Main").CondWait(t, t + 40, kQueue).Launch(t + 45, t + 55, k).Signal(t + 60, kBack);
    trace->Thread("Feeder").CondWait(t - 35, t - 30, kBack).Signal(t + 35, kQueue);
    trace->Gpu().OnStream(7).Kernel(t + 56, t + 70, k, "gemm");
  }
  trace->Thread("Main").GraphLaunch(t, t + 10, k).CopyAsync(t + 10, t + 15, k + 1, 128).StreamSync(t + 20, t + 200);
  trace->Gpu().Graph(t + 10, t + 150, k).CopyD2h(t + 150, t + 152, k + 1, 128);
}

void RunSteps(benchmark::State& state, void (*build)(TraceBuilder*)) {
  TraceBuilder trace;
  build(&trace);
  Events step;
  Recorder recorder(&step);
  trace.Feed(&recorder);
  ProcessInfo process;
  auto analysis = ProcessAnalysis::Create(process, &trace, {});
  uint64_t steps = 0;
  int64_t shift = 0;
  uint32_t correlation = 0;
  for (auto _ : state) {
    for (CudaCallEvent call : step.calls) {
      call.begin += shift, call.end += shift;
      if (call.correlation != 0) call.correlation += correlation;
      analysis->OnCudaCall(call);
    }
    for (WaitEvent wait : step.waits) {
      wait.begin += shift, wait.end += shift;
      analysis->OnWait(wait);
    }
    for (WakeEvent wake : step.wakes) {
      wake.at += shift;
      analysis->OnWake(wake);
    }
    for (GpuOpEvent op : step.ops) {
      op.begin += shift, op.end += shift, op.correlation += correlation;
      analysis->OnGpuOp(op);
    }
    shift += static_cast<int64_t>(kStepUs * 1000);
    correlation += 50;
    if (++steps % 50 == 0) analysis->Advance(TraceBuilder::kOrigin + shift);
  }
  analysis->Finish();
  const ProcessReport report = analysis->Report(0, 0);
  if (report.steps + 2 < steps) state.SkipWithError("steps were not attributed");
  state.SetItemsProcessed(static_cast<int64_t>(steps * step.size()));
  state.counters["events_per_step"] = static_cast<double>(step.size());
  state.counters["host_lines_us_per_step"] = static_cast<double>(report.lines[static_cast<int>(Line::kHostLaunch)].ns +
                                                                 report.lines[static_cast<int>(Line::kHostCpu)].ns) /
                                             1000 / static_cast<double>(std::max<uint64_t>(1, report.steps));
}

void BM_DecodeSteps(benchmark::State& state) { RunSteps(state, BuildStep); }
BENCHMARK(BM_DecodeSteps);

void BM_LaunchBoundSteps(benchmark::State& state) { RunSteps(state, BuildLaunchBoundStep); }
BENCHMARK(BM_LaunchBoundSteps);

}  // namespace
}  // namespace stallscope
