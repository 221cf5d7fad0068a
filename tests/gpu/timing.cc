// What time says: the cost of each level of detail, CUPTI's clock, and how late waits return.
#include <time.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/gpu/cupti_access.h"
#include "tests/gpu/kernels.h"
#include "tests/gpu/questions.h"

namespace gpu_probe {
namespace {

constexpr int kKernelsAStep = 200;  // nodes of the graph; eager steps launch a fifth
constexpr int kRounds = 5, kStepsARound = 60;

uint64_t ClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// A decode step: kernels, four bytes back, one wait.
class DecodeLoop {
 public:
  explicit DecodeLoop(bool graph) : graph_(graph) {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    Check(cudaMalloc(&device_, 64), "allocating");
    Check(cudaMallocHost(&host_, 64), "allocating");
    if (!graph_) return;
    cudaGraph_t captured;
    Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capturing");
    for (int i = 0; i < kKernelsAStep; ++i) LaunchShort(stream_);
    Check(cudaStreamEndCapture(stream_, &captured), "capturing");
    Check(cudaGraphInstantiate(&exec_, captured, 0), "instantiating");
  }
  double StepUs() {
    const uint64_t begin_ns = NowNs();
    if (graph_) {
      cudaGraphLaunch(exec_, stream_);
    } else {
      for (int i = 0; i < kKernelsAStep / 5; ++i) LaunchShort(stream_);
    }
    cudaMemcpyAsync(host_, device_, 4, cudaMemcpyDeviceToHost, stream_);
    Check(cudaStreamSynchronize(stream_), "a step");
    return static_cast<double>(NowNs() - begin_ns) / 1e3;
  }

 private:
  const bool graph_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  void *device_ = nullptr, *host_ = nullptr;
};

struct Level {
  const char* name;
  bool callbacks;
  std::vector<CUpti_ActivityKind> kinds;
};

void CUPTIAPI Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void Switch(const Level& level, CUpti_SubscriberHandle subscriber, bool on) {
  if (level.callbacks) {
    for (CUpti_CallbackId cbid :
         {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000,
          CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
          CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020}) {
      Cupti().cuptiEnableCallback(on ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, cbid);
    }
  }
  for (CUpti_ActivityKind kind : level.kinds) {
    Check(on ? Cupti().cuptiActivityEnable(kind) : Cupti().cuptiActivityDisable(kind), level.name);
  }
}

struct Bracket {
  int64_t offset_ns;
  uint64_t width_ns;
};

// CUPTI's clock minus a host clock; the narrowest of many brackets.
Bracket OffsetTo(clockid_t clock) {
  Bracket best{0, ~uint64_t{0}};
  for (int i = 0; i < 1000; ++i) {
    uint64_t stamp = 0;
    const uint64_t before_ns = ClockNs(clock);
    Check(Cupti().cuptiGetTimestamp(&stamp), "reading CUPTI's clock");
    const uint64_t after_ns = ClockNs(clock);
    if (after_ns - before_ns >= best.width_ns) continue;
    best = {static_cast<int64_t>(stamp - before_ns - (after_ns - before_ns) / 2), after_ns - before_ns};
  }
  return best;
}

Answer Offsets() {
  Answer answer;
  for (const auto& [name, clock] : {std::pair<const char*, clockid_t>{"realtime", CLOCK_REALTIME},
                                    {"monotonic", CLOCK_MONOTONIC},
                                    {"monotonic_raw", CLOCK_MONOTONIC_RAW}}) {
    const Bracket bracket = OffsetTo(clock);
    answer[name] = {{"offset_ns", bracket.offset_ns}, {"bracket_ns", bracket.width_ns}};
  }
  return answer;
}

uint64_t Monotonic() { return ClockNs(CLOCK_MONOTONIC); }

}  // namespace

Answer AskDevice() {
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, 0), "reading the device's properties");
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  Answer answer = {{"name", properties.name},
                   {"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
                   {"driver_version", driver},
                   {"runtime_version", runtime}};
  uint32_t version = 0;
  Check(Cupti().cuptiGetVersion(&version), "asking CUPTI's version");
  uint8_t per_thread = 0;
  size_t bytes = sizeof per_thread;
  const CUptiResult attribute =
      Cupti().cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread);
  answer["cupti_version"] = version;
  answer["one_buffer_a_thread_by_default"] = attribute == CUPTI_SUCCESS ? Answer(per_thread != 0) : Answer();
  return answer;
}

Answer AskDetailCost(bool graph) {
  DecodeLoop loop(graph);
  CUpti_SubscriberHandle subscriber;
  Check(Cupti().cuptiSubscribe(&subscriber, Ignore, nullptr), "subscribing");
  StartRecording({});
  const Level levels[] = {
      {"off", false, {}},
      {"launch callbacks", true, {}},
      {"graph trace, waits, copies",
       true,
       {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_MEMCPY}},
      {"kernels, with graphs as one",
       true,
       {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}},
      {"kernels and graph nodes",
       true,
       {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}},
      {"nodes and all API calls",
       true,
       {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}},
  };
  std::vector<double> step_us[std::size(levels)];
  for (int i = 0; i < kStepsARound; ++i) loop.StepUs();
  for (int round = 0; round < kRounds; ++round) {  // interleaved, so that drift hits all alike
    for (size_t level = 0; level < std::size(levels); ++level) {
      Switch(levels[level], subscriber, true);
      for (int i = 0; i < 5; ++i) loop.StepUs();
      for (int i = 0; i < kStepsARound; ++i) step_us[level].push_back(loop.StepUs());
      Switch(levels[level], subscriber, false);
      Flush(true);
      ForgetRecords();
    }
  }
  Cupti().cuptiUnsubscribe(subscriber);
  Answer answer = {{"kernels_a_step", graph ? kKernelsAStep : kKernelsAStep / 5}, {"levels", Answer::array()}};
  const double off_us = Quantile(step_us[0], 0.5);
  for (size_t level = 0; level < std::size(levels); ++level) {
    const double median_us = Quantile(step_us[level], 0.5);
    answer["levels"].push_back({{"level", levels[level].name},
                                {"step_median_us", median_us},
                                {"step_p90_us", Quantile(step_us[level], 0.9)},
                                {"over_off_percent", (median_us / off_us - 1) * 100}});
  }
  return answer;
}

Answer AskClocks() {
  Answer answer = {{"before_cuda", Offsets()}};
  Check(cudaFree(nullptr), "starting CUDA");
  LaunchShort(nullptr);
  Check(cudaDeviceSynchronize(), "a kernel");
  answer["with_cuda"] = Offsets();
  Check(Cupti().cuptiActivityRegisterTimestampCallback(Monotonic), "registering a clock");
  StartRecording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  int inside = 0;
  constexpr int kLaunches = 50;
  std::vector<std::pair<uint64_t, uint64_t>> around;
  for (int i = 0; i < kLaunches; ++i) {
    const uint64_t before_ns = NowNs();
    LaunchShort(nullptr);
    cudaDeviceSynchronize();
    around.emplace_back(before_ns, NowNs());
  }
  Flush(true);
  const auto kernels = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  for (size_t i = 0; i < kernels.size() && i < around.size(); ++i) {
    inside += kernels[i].start >= around[i].first && kernels[i].end <= around[i].second;
  }
  answer["own_clock"] = {{"launches", kLaunches}, {"kernels_inside_launch_and_wait", inside}};
  return answer;
}

Answer AskOverWait(const std::string& how) {
  const unsigned flags = how == "spin"    ? cudaDeviceScheduleSpin
                         : how == "yield" ? cudaDeviceScheduleYield
                         : how == "block" ? cudaDeviceScheduleBlockingSync
                                          : cudaDeviceScheduleAuto;
  Check(cudaSetDeviceFlags(flags), "setting how waits wait");
  Check(Cupti().cuptiActivityRegisterTimestampCallback(Monotonic), "registering a clock");
  Check(cudaFree(nullptr), "starting CUDA");
  StartRecording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  cudaEvent_t event;
  Check(cudaEventCreateWithFlags(
            &event, how == "blocking_event" ? cudaEventDisableTiming | cudaEventBlockingSync : cudaEventDisableTiming),
        "an event");
  const bool by_event = how == "event" || how == "blocking_event";
  std::vector<uint64_t> returned_ns;
  for (int i = 0; i < 50; ++i) {
    LaunchMiddle(nullptr);
    if (by_event) {
      cudaEventRecord(event, nullptr);
      Check(cudaEventSynchronize(event), "waiting");
    } else {
      Check(cudaStreamSynchronize(nullptr), "waiting");
    }
    returned_ns.push_back(NowNs());
  }
  Flush(true);
  const auto kernels = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (kernels.size() != returned_ns.size()) throw NotAnswered("not every kernel has a record");
  std::vector<double> late_us;
  for (size_t i = 0; i < kernels.size(); ++i) {
    late_us.push_back((static_cast<double>(returned_ns[i]) - static_cast<double>(kernels[i].end)) / 1e3);
  }
  return {{"late_median_us", Quantile(late_us, 0.5)}, {"late_p90_us", Quantile(late_us, 0.9)}};
}

}  // namespace gpu_probe
