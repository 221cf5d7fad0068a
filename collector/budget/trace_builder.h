// Writes small traces for tests so that they read like the timelines they stand for. Times are microseconds.
//
//   TraceBuilder trace;
//   trace.Thread("Main").Launch(60, 90, 1).DeviceSync(98, 900).Marker(1000);
//   trace.Gpu().Kernel(100, 400, 1, "gemm");
//   trace.Feed(analysis.get());
//
// Header only; used by tests and benchmarks, never by the product.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/base/event.h"
#include "collector/budget/process_analysis.h"
#include "proto/wire/shm.h"

namespace stallscope {

class TraceBuilder final : public ProcessNames {
 public:
  // Where microsecond 0 of the trace lies on the host's clock.
  static constexpr HostNs kOrigin = 1'000'000'000'000;
  static constexpr HostNs At(double us) { return kOrigin + static_cast<HostNs>(us * 1000 + (us < 0 ? -0.5 : 0.5)); }

  class ThreadTrace {
   public:
    ThreadTrace(TraceBuilder* trace, ThreadIndex index) : trace_(*trace), index_(index) {}
    ThreadIndex index() const { return index_; }

    // CUDA. The chosen stream holds for what follows.
    ThreadTrace& OnStream(uint64_t handle) { return stream_ = handle, *this; }
    ThreadTrace& WithFlags(uint64_t flags) { return flags_ = static_cast<uint8_t>(flags), *this; }
    ThreadTrace& Launch(double begin, double end, uint32_t correlation) {
      return Cuda(wire::CudaCallClass::kLaunch, begin, end, correlation);
    }
    ThreadTrace& GraphLaunch(double begin, double end, uint32_t correlation, uint64_t exec = 0x6000) {
      return Cuda(wire::CudaCallClass::kGraphLaunch, begin, end, correlation, exec);
    }
    ThreadTrace& CopyAsync(double begin, double end, uint32_t correlation, uint64_t bytes,
                           wire::CopyKind kind = wire::CopyKind::kDeviceToHost) {
      return Cuda(wire::CudaCallClass::kCopyAsync, begin, end, correlation, bytes, kind);
    }
    ThreadTrace& PageableCopy(double begin, double end, uint32_t correlation, uint64_t bytes) {
      const uint8_t kept = std::exchange(flags_, static_cast<uint8_t>(flags_ | wire::kCudaFlagPageable));
      CopyAsync(begin, end, correlation, bytes);
      flags_ = kept;
      return *this;
    }
    ThreadTrace& BlockingCopy(double begin, double end, uint32_t correlation, uint64_t bytes,
                              wire::CopyKind kind = wire::CopyKind::kDeviceToHost) {
      return Cuda(wire::CudaCallClass::kCopySync, begin, end, correlation, bytes, kind);
    }
    ThreadTrace& DeviceSync(double begin, double end) { return Cuda(wire::CudaCallClass::kSyncDevice, begin, end); }
    ThreadTrace& StreamSync(double begin, double end) { return Cuda(wire::CudaCallClass::kSyncStream, begin, end); }
    ThreadTrace& EventSync(double begin, double end, uint64_t event) {
      return Cuda(wire::CudaCallClass::kSyncEvent, begin, end, 0, event);
    }
    ThreadTrace& EventRecord(double begin, double end, uint64_t event) {
      return Cuda(wire::CudaCallClass::kEventRecord, begin, end, 0, event);
    }
    ThreadTrace& StreamWaitEvent(double begin, double end, uint64_t event) {
      return Cuda(wire::CudaCallClass::kStreamWaitEvent, begin, end, 0, event);
    }
    ThreadTrace& EventQuery(double begin, double end, uint64_t event, bool done) {
      return Cuda(wire::CudaCallClass::kQueryEvent, begin, end, 0, event, wire::CopyKind::kUnknown, done ? 0 : 600);
    }
    ThreadTrace& CudaMalloc(double begin, double end) { return Cuda(wire::CudaCallClass::kAlloc, begin, end); }
    ThreadTrace& ModuleLoad(double begin, double end) { return Cuda(wire::CudaCallClass::kModuleLoad, begin, end); }
    ThreadTrace& Cuda(wire::CudaCallClass call_class, double begin, double end, uint32_t correlation = 0,
                      uint64_t argument = 0, wire::CopyKind kind = wire::CopyKind::kUnknown, int32_t result = 0) {
      CudaCallEvent event{};
      event.thread = index_;
      event.call = static_cast<uint16_t>(call_class);
      event.call_class = call_class;
      event.copy_kind = kind;
      event.flags = flags_;
      event.begin = At(begin);
      event.end = At(end);
      event.correlation = correlation;
      event.result = result;
      event.stream = stream_;
      event.argument = argument;
      return Add(event.end, [event](EventSink* sink) { sink->OnCudaCall(event); });
    }

    // The OS.
    ThreadTrace& Wait(wire::OsCall call, double begin, double end, uint64_t object, int32_t result = 0,
                      uint32_t count = 0) {
      WaitEvent event{};
      event.thread = index_;
      event.call = call;
      event.begin = At(begin);
      event.end = At(end);
      event.object = object;
      event.result = result;
      event.count = count;
      return Add(event.end, [event](EventSink* sink) { sink->OnWait(event); });
    }
    ThreadTrace& MutexLock(double begin, double end, uint64_t mutex) {
      return Wait(wire::OsCall::kPthreadMutexLock, begin, end, mutex);
    }
    ThreadTrace& CondWait(double begin, double end, uint64_t condition) {
      return Wait(wire::OsCall::kPthreadCondWait, begin, end, condition);
    }
    ThreadTrace& EpollWait(double begin, double end, int fd, int32_t ready = 1) {
      return Wait(wire::OsCall::kEpollWait, begin, end, wire::FdObject(fd), ready);
    }
    ThreadTrace& Sleep(double begin, double end) { return Wait(wire::OsCall::kNanosleep, begin, end, 0); }
    ThreadTrace& Wake(wire::OsCall call, double at, uint64_t object, uint32_t woken_tid = 0) {
      WakeEvent event{};
      event.thread = index_;
      event.call = call;
      event.at = At(at);
      event.object = object;
      event.woken_tid = woken_tid;
      return Add(event.at, [event](EventSink* sink) { sink->OnWake(event); });
    }
    ThreadTrace& Unlock(double at, uint64_t mutex) { return Wake(wire::OsCall::kPthreadMutexUnlock, at, mutex); }
    ThreadTrace& Signal(double at, uint64_t condition) { return Wake(wire::OsCall::kPthreadCondSignal, at, condition); }
    ThreadTrace& WriteFd(double at, int fd) { return Wake(wire::OsCall::kWrite, at, wire::FdObject(fd)); }

    // Marks of progress.
    ThreadTrace& Marker(double at, uint64_t tokens = 1) { return Mark(wire::RangeKind::kStepMarker, at, tokens); }
    ThreadTrace& EngineDecode(double at, uint64_t batch = 1) { return Mark(wire::RangeKind::kEngineDecode, at, batch); }
    ThreadTrace& EngineToken(double at) { return Mark(wire::RangeKind::kEngineToken, at, 0); }
    ThreadTrace& Mark(wire::RangeKind kind, double at, uint64_t number) {
      RangeEvent event{};
      event.thread = index_;
      event.kind = kind;
      event.begin = event.end = At(at);
      event.number = number;
      return Add(event.end, [event](EventSink* sink) { sink->OnRange(event); });
    }

    // What the kernel says; cumulative microseconds.
    ThreadTrace& Sample(double at, double on_cpu, double run_delay) {
      ThreadSampleEvent event{};
      event.thread = index_;
      event.at = At(at);
      event.on_cpu_ns = static_cast<uint64_t>(on_cpu * 1000);
      event.run_delay_ns = static_cast<uint64_t>(run_delay * 1000);
      return Add(event.at, [event](EventSink* sink) { sink->OnThreadSample(event); });
    }
    // The driver loads code on this thread; told of with the GPU's records. `tid` 0: not said, but the call.
    ThreadTrace& CodeLoad(double begin, double end, wire::CodeLoadKind kind, uint32_t correlation = 0,
                          bool says_thread = true) {
      const CodeLoadEvent event{kind, At(begin), At(end), says_thread ? 1000 + index_ : 0, correlation, 0};
      trace_.gpu_events_.push_back({event.end, 0, [event](EventSink* sink) { sink->OnCodeLoad(event); }});
      return *this;
    }
    ThreadTrace& Lost(double from, double to, uint64_t records) {
      const LossEvent event{index_, records, At(from), At(to)};
      return Add(event.to, [event](EventSink* sink) { sink->OnLoss(event); });
    }

   private:
    ThreadTrace& Add(HostNs ended, std::function<void(EventSink*)> feed) {
      trace_.AddEvent(index_, ended, std::move(feed));
      return *this;
    }

    TraceBuilder& trace_;
    ThreadIndex index_;
    uint64_t stream_ = 0x5000;
    uint8_t flags_ = 0;
  };

  class GpuTrace {
   public:
    GpuTrace(TraceBuilder* trace, uint32_t device) : trace_(*trace), device_(device) {}
    GpuTrace& OnStream(uint32_t stream) { return stream_ = stream, *this; }
    // Records of what follows come only so long after the operation's end (FeedLive).
    GpuTrace& RecordsLate(double delay_us) { return delay_ns_ = static_cast<int64_t>(delay_us * 1000), *this; }
    GpuTrace& Kernel(double begin, double end, uint32_t correlation, std::string_view name, uint32_t graph = 0) {
      return Op(wire::GpuOpKind::kKernel, begin, end, correlation, trace_.Intern(name), graph);
    }
    GpuTrace& Graph(double begin, double end, uint32_t correlation, uint32_t graph = 1) {
      return Op(wire::GpuOpKind::kGraph, begin, end, correlation, 0, graph);
    }
    GpuTrace& CopyD2h(double begin, double end, uint32_t correlation, uint64_t bytes = 4) {
      return Op(wire::GpuOpKind::kCopy, begin, end, correlation, 0, 0, wire::CopyKind::kDeviceToHost, bytes);
    }
    GpuTrace& CopyH2d(double begin, double end, uint32_t correlation, uint64_t bytes = 4) {
      return Op(wire::GpuOpKind::kCopy, begin, end, correlation, 0, 0, wire::CopyKind::kHostToDevice, bytes);
    }
    GpuTrace& CopyD2d(double begin, double end, uint32_t correlation, uint64_t bytes, uint32_t graph = 0) {
      return Op(wire::GpuOpKind::kCopy, begin, end, correlation, 0, graph, wire::CopyKind::kDeviceToDevice, bytes);
    }
    GpuTrace& Memset(double begin, double end, uint32_t correlation) {
      return Op(wire::GpuOpKind::kMemset, begin, end, correlation, 0, 0);
    }

   private:
    GpuTrace& Op(wire::GpuOpKind kind, double begin, double end, uint32_t correlation, StringId name, uint32_t graph,
                 wire::CopyKind copy = wire::CopyKind::kUnknown, uint64_t argument = 0) {
      GpuOpEvent event{};
      event.kind = kind;
      event.copy_kind = copy;
      event.device = device_;
      event.stream = stream_;
      event.correlation = correlation;
      event.graph = graph;
      event.name = name;
      event.begin = At(begin);
      event.end = At(end);
      event.argument = argument;
      trace_.gpu_events_.push_back({event.end, delay_ns_, [event](EventSink* sink) { sink->OnGpuOp(event); }});
      return *this;
    }

    TraceBuilder& trace_;
    uint32_t device_;
    uint32_t stream_ = 7;
    int64_t delay_ns_ = 0;
  };

  ThreadTrace& Thread(std::string_view name) {
    for (size_t i = 0; i < infos_.size(); ++i) {
      if (infos_[i].name == name) return threads_[i];
    }
    const auto index = static_cast<ThreadIndex>(infos_.size() + 1);
    infos_.push_back({index, 1000 + index, std::string(name), kOrigin});
    threads_.emplace_back(this, index);
    thread_events_.emplace_back();
    return threads_.back();
  }
  GpuTrace& Gpu(uint32_t device = 0) {
    while (gpus_.size() <= device) gpus_.emplace_back(this, static_cast<uint32_t>(gpus_.size()));
    return gpus_[device];
  }

  // All events, thread by thread, GPU records last; each thread's in the order in which they ended.
  void Feed(EventSink* sink) {
    SortThreads();
    for (const auto& events : thread_events_) {
      for (const Event& event : events) event.feed(sink);
    }
    for (const Event& event : gpu_events_) event.feed(sink);
  }

  // As a collector gets them: each some time after it ended, with Advance every 100 ms up to `until_us`.
  void FeedLive(ProcessAnalysis* analysis, double until_us, double thread_delay_us = 20'000,
                double gpu_delay_us = 150'000) {
    SortThreads();
    struct Arrival {
      HostNs at;
      const Event* event;
    };
    std::vector<Arrival> arrivals;
    for (const auto& events : thread_events_) {
      for (const Event& event : events) {
        arrivals.push_back({event.ended + static_cast<int64_t>(thread_delay_us * 1000), &event});
      }
    }
    for (const Event& event : gpu_events_) {
      arrivals.push_back({event.ended + std::max(event.delay_ns, static_cast<int64_t>(gpu_delay_us * 1000)), &event});
    }
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
    size_t next = 0;
    for (HostNs now = kOrigin; now <= At(until_us); now += 100'000'000) {
      for (; next < arrivals.size() && arrivals[next].at <= now; ++next) arrivals[next].event->feed(analysis);
      analysis->Advance(now);
    }
  }

  // What ended since the last call and before `until_us`, thread by thread.
  void FeedOnce(EventSink* sink, double until_us) {
    SortThreads();
    fed_.resize(thread_events_.size());
    for (size_t thread = 0; thread < thread_events_.size(); ++thread) {
      const auto& events = thread_events_[thread];
      for (; fed_[thread] < events.size() && events[fed_[thread]].ended < At(until_us); ++fed_[thread]) {
        events[fed_[thread]].feed(sink);
      }
    }
  }

  // As a starved agent sends them: every `round_us` one thread after the other, with Advance to the time of the day in
  // between, and the mark behind the last one.
  void FeedInRounds(ProcessAnalysis* analysis, double until_us, double round_us) {
    SortThreads();
    std::vector<size_t> next(thread_events_.size());
    size_t next_gpu = 0;
    for (double round = 0; round <= until_us; round += round_us) {
      const HostNs now = At(round);
      for (size_t thread = 0; thread < thread_events_.size(); ++thread) {
        const auto& events = thread_events_[thread];
        for (; next[thread] < events.size() && events[next[thread]].ended < now; ++next[thread]) {
          events[next[thread]].feed(analysis);
        }
        analysis->Advance(now);
      }
      for (; next_gpu < gpu_events_.size() && gpu_events_[next_gpu].ended < now; ++next_gpu) {
        gpu_events_[next_gpu].feed(analysis);
      }
      analysis->OnState({kStateDrained, now, 0, ""});
      analysis->Advance(now);
    }
  }

  // ProcessNames
  std::string_view String(StringId id) const override {
    if (id == 0 || id > strings_.size()) return "";
    return strings_[id - 1];
  }
  std::string_view CallName(wire::CudaDomain, uint16_t call) const override {
    switch (static_cast<wire::CudaCallClass>(call)) {
      case wire::CudaCallClass::kLaunch:
        return "cudaLaunchKernel_v7000";
      case wire::CudaCallClass::kGraphLaunch:
        return "cudaGraphLaunch_v10000";
      case wire::CudaCallClass::kCopyAsync:
        return "cudaMemcpyAsync_v3020";
      case wire::CudaCallClass::kCopySync:
        return "cudaMemcpy_v3020";
      case wire::CudaCallClass::kSyncDevice:
        return "cudaDeviceSynchronize_v3020";
      case wire::CudaCallClass::kSyncStream:
        return "cudaStreamSynchronize_v3020";
      case wire::CudaCallClass::kSyncEvent:
        return "cudaEventSynchronize_v3020";
      case wire::CudaCallClass::kAlloc:
        return "cudaMalloc_v3020";
      default:
        return "cuda_runtime";
    }
  }
  const ThreadInfo* Thread(ThreadIndex thread) const override {
    return thread == 0 || thread > infos_.size() ? nullptr : &infos_[thread - 1];
  }

 private:
  struct Event {
    HostNs ended;
    int64_t delay_ns;
    std::function<void(EventSink*)> feed;
  };

  void AddEvent(ThreadIndex thread, HostNs ended, std::function<void(EventSink*)> feed) {
    thread_events_[thread - 1].push_back({ended, 0, std::move(feed)});
  }
  StringId Intern(std::string_view text) {
    for (size_t i = 0; i < strings_.size(); ++i) {
      if (strings_[i] == text) return static_cast<StringId>(i + 1);
    }
    strings_.emplace_back(text);
    return static_cast<StringId>(strings_.size());
  }
  void SortThreads() {
    for (auto& events : thread_events_) {
      std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.ended < b.ended; });
    }
  }

  std::deque<ThreadInfo> infos_;
  std::deque<ThreadTrace> threads_;
  std::deque<GpuTrace> gpus_;
  std::deque<std::string> strings_;
  std::deque<std::vector<Event>> thread_events_;
  std::vector<size_t> fed_;  // of each thread, by FeedOnce
  std::vector<Event> gpu_events_;
};

// Runs a whole trace through an analysis and keeps its steps.
class AnalysedTrace {
 public:
  explicit AnalysedTrace(TraceBuilder* trace, const AnalysisOptions& options = {}) {
    Create(trace, options);
    trace->Feed(analysis_.get());
    analysis_->Finish();
  }
  // Lives through the trace until `until_us` instead, and does not finish.
  static std::unique_ptr<AnalysedTrace> Live(TraceBuilder* trace, double until_us,
                                             const AnalysisOptions& options = {}) {
    std::unique_ptr<AnalysedTrace> live(new AnalysedTrace());
    live->Create(trace, options);
    trace->FeedLive(live->analysis_.get(), until_us);
    return live;
  }

  static std::unique_ptr<AnalysedTrace> InRounds(TraceBuilder* trace, double until_us, double round_us) {
    std::unique_ptr<AnalysedTrace> live(new AnalysedTrace());
    live->Create(trace, {});
    trace->FeedInRounds(live->analysis_.get(), until_us, round_us);
    return live;
  }

  ProcessAnalysis& analysis() { return *analysis_; }
  const std::vector<StepRecord>& steps() const { return steps_; }
  ProcessReport Report(int64_t window_ns = 0, HostNs now = 0) const { return analysis_->Report(window_ns, now); }
  // Microseconds that step `index` spent in `line`.
  double Us(size_t index, Line line) const {
    return static_cast<double>(steps_.at(index).lines[static_cast<size_t>(line)]) / 1000;
  }
  double HiddenUs(size_t index, Line line) const {
    return static_cast<double>(steps_.at(index).hidden[static_cast<size_t>(line)]) / 1000;
  }
  static int64_t Sum(const LineSums& lines) {
    int64_t sum = 0;
    for (const int64_t ns : lines) sum += ns;
    return sum;
  }

 private:
  AnalysedTrace() = default;
  void Create(TraceBuilder* trace, const AnalysisOptions& options) {
    ProcessInfo process;
    process.process_name = "test";
    analysis_ = ProcessAnalysis::Create(process, trace, options);
    analysis_->SetStepObserver(
        [](void* self, const StepRecord& step) {
          std::vector<StepRecord>& steps = static_cast<AnalysedTrace*>(self)->steps_;
          if (step.index < steps.size()) {
            steps[step.index] = step;  // corrected
          } else {
            steps.push_back(step);
          }
        },
        this);
  }

  std::unique_ptr<ProcessAnalysis> analysis_;
  std::vector<StepRecord> steps_;
};

}  // namespace stallscope
