// For tests: a sink that keeps every event as one line of text, every field in it, so that two ways of feeding compare
// by equality.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/base/event.h"

namespace stallscope::ingest {

class EventLog : public EventSink {
 public:
  explicit EventLog(const ProcessNames* names = nullptr) : names_(names) {}

  const std::vector<std::string>& lines() const { return lines_; }
  // Lines that begin with the word.
  std::vector<std::string> Only(std::string_view word) const {
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line.substr(0, word.size()) == word) found.push_back(line);
    }
    return found;
  }

  void OnThread(const ThreadInfo& t) override { Add("thread", t.thread, t.tid, t.name, t.begin); }
  void OnDevice(const DeviceInfo& d) override { Add("device", d.device, std::string(d.name), d.simulated); }
  void OnContext(const ContextInfo& c) override {
    Add("context", c.id, c.device, c.multiprocessors, c.parent, c.mps, c.green);
  }
  void OnNamed(const NamedInfo& n) override { Add("named", static_cast<int>(n.kind), n.value, std::string(n.name)); }
  void OnMemory(const MemoryEvent& e) override {
    Add("memory", static_cast<int>(e.operation), e.begin, e.end, e.address, e.bytes, e.extra,
        static_cast<int>(e.memory_kind), static_cast<int>(e.device), static_cast<int>(e.flags), e.correlation);
  }
  void OnCodeLoad(const CodeLoadEvent& e) override {
    Add("load", static_cast<int>(e.kind), e.begin, e.end, e.tid, e.correlation, e.bytes);
  }
  void OnWait(const WaitEvent& e) override {
    Add("wait", e.thread, static_cast<int>(e.call), e.begin, e.end, e.object, e.result, e.count, e.timeout_ns_plus_one,
        e.stack);
  }
  void OnWake(const WakeEvent& e) override {
    Add("wake", e.thread, static_cast<int>(e.call), e.at, e.object, e.woken_tid, e.fd_plus_one, e.stack);
  }
  void OnCudaCall(const CudaCallEvent& e) override {
    Add("cuda", e.thread, e.call, static_cast<int>(e.domain), static_cast<int>(e.call_class),
        static_cast<int>(e.copy_kind), static_cast<int>(e.flags), e.begin, e.end, e.correlation, e.result, e.stream,
        e.argument, e.stack);
  }
  void OnGpuOp(const GpuOpEvent& e) override {
    Add("gpu", static_cast<int>(e.kind), static_cast<int>(e.copy_kind), static_cast<int>(e.source_memory),
        static_cast<int>(e.destination_memory), e.device, e.context, e.stream, e.correlation, e.graph, Text(e.name),
        e.shape, e.begin, e.end, e.argument);
  }
  void OnRange(const RangeEvent& e) override {
    Add("range", e.thread, static_cast<int>(e.kind), e.begin, e.end, Text(e.text), Text(e.domain), e.number,
        e.range_id);
  }
  void OnState(const StateEvent& e) override { Add("state", e.what, e.at, e.value, e.text); }
  void OnThreadSample(const ThreadSampleEvent& e) override {
    Add("sample", e.thread, e.at, e.on_cpu_ns, e.run_delay_ns, e.voluntary_switches, e.involuntary_switches);
  }
  void OnHealth(const HealthEvent& e) override { Add("health", e.at, e.events, e.ring_lost, e.level); }
  void OnLoss(const LossEvent& e) override { Add("loss", e.thread, e.records, e.from, e.to); }
  void OnClock(HostNs monotonic, int64_t realtime_ns, uint64_t gpu_uncertainty_ns) override {
    Add("clock", monotonic, realtime_ns, gpu_uncertainty_ns);
  }
  void OnGoodbye(HostNs at, bool exec) override { Add("goodbye", at, exec); }

 private:
  std::string Text(StringId id) const {
    return names_ == nullptr ? absl::StrCat("#", id) : std::string(names_->String(id));
  }
  template <typename... Parts>
  void Add(std::string_view kind, const Parts&... parts) {
    std::string line(kind);
    (absl::StrAppend(&line, " ", parts), ...);
    lines_.push_back(std::move(line));
  }

  const ProcessNames* names_;
  std::vector<std::string> lines_;
};

// For tests: the logs of all processes of a capture.
class EventLogs : public ProcessSink {
 public:
  EventSink* OnProcess(const ProcessInfo& process, const ProcessNames* names) override {
    infos.push_back(process);
    logs.push_back(std::make_unique<EventLog>(names));
    return logs.back().get();
  }
  std::vector<ProcessInfo> infos;
  std::vector<std::unique_ptr<EventLog>> logs;
};

}  // namespace stallscope::ingest
