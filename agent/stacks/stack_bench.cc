// What a stack of 30 frames costs the thread that takes it, beside glibc's backtrace() in the same run.
//
// backtrace() walks the same frames and interns nothing. --benchmark_repetitions and the ratio of CPU times are what counts.
#include <benchmark/benchmark.h>
#include <execinfo.h>

#include "agent/stacks/test_stacks.h"

namespace stallscope::agent {
void ReportState(uint32_t, uint64_t, const char*) noexcept {}
void Log(const char*, const char*, int64_t) noexcept {}

namespace {

constexpr int kFrames = 30;

// As many calls deeper as make the stack kFrames long.
template <typename Work>
void AtThirtyFrames(benchmark::State& state, Work work) {
  void* frames[128];
  const int here = backtrace(frames, 128);
  AtDepth(kFrames - here > 1 ? kFrames - here - 1 : 0, work);
  state.counters["frames"] = kFrames;
}

void WarmStack(benchmark::State& state) {
  TestStacks stacks;
  if (!stacks.available()) return state.SkipWithError("libunwind-x86_64.so.8 is not installed");
  g_stack_rounds.stacks()->own = {};
  AtThirtyFrames(state, [&] {
    uint32_t id = 0;
    uint64_t others = 0;
    // One place in the code: the first times teach the rules.
    int taught = 0;
    for (auto _ : state) {
      const uint32_t taken = TakeHere(stacks.thread());
      if (__builtin_expect(taught < 4, 0)) {
        ++taught;
        id = FinalStack(taken);
        RunStackRound(MonotonicNs());
      } else {
        others += taken != id;
      }
    }
    if (others != 0 || id == 0) state.SkipWithError("the stack is not warm");
    state.counters["stack"] = StackById(id).count;
    return 0;
  });
}
BENCHMARK(WarmStack);

void GlibcBacktrace(benchmark::State& state) {
  AtThirtyFrames(state, [&] {
    void* frames[64];
    for (auto _ : state) benchmark::DoNotOptimize(backtrace(frames, 64));
    state.counters["stack"] = backtrace(frames, 64);
    return 0;
  });
}
BENCHMARK(GlibcBacktrace);

// The same call where stacks are off.
void StacksOff(benchmark::State& state) {
  TestStacks stacks;
  stacks.header()->control.fetch_and(~wire::kControlStacks);
  for (auto _ : state) benchmark::DoNotOptimize(StackOfCall(stacks.thread(), 1, 1'000'000'000));
}
BENCHMARK(StacksOff);

}  // namespace
}  // namespace stallscope::agent
