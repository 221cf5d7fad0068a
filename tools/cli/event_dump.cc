#include "tools/cli/event_dump.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "collector/memory/memory_words.h"
#include "collector/tables/summary_tables.h"
#include "proto/wire/shm.h"
#include "tools/cli/event_line.h"

namespace stallscope::cli {
namespace {

constexpr size_t kMostFramesInText = 12;

std::string OsCallName(wire::OsCall call) {
  const auto number = static_cast<size_t>(call);
  if (number < static_cast<size_t>(wire::OsCall::kCount)) return wire::kOsCalls[number].name;
  return "os_call_" + std::to_string(number);
}

const char* GpuKindName(wire::GpuOpKind kind) {
  switch (kind) {
    case wire::GpuOpKind::kKernel:
      return "kernel";
    case wire::GpuOpKind::kCopy:
      return "copy";
    case wire::GpuOpKind::kMemset:
      return "memset";
    case wire::GpuOpKind::kGraph:
      return "graph";
    case wire::GpuOpKind::kSync:
      return "sync";
  }
  return "unknown";
}

const char* RangeKindName(wire::RangeKind kind) {
  switch (kind) {
    case wire::RangeKind::kPush:
      return "push_pop";
    case wire::RangeKind::kStartEnd:
      return "start_end";
    case wire::RangeKind::kMark:
      return "mark";
    case wire::RangeKind::kStepMarker:
      return "step_marker";
    case wire::RangeKind::kEngineDecode:
      return "engine_decode";
    case wire::RangeKind::kEngineToken:
      return "engine_token";
  }
  return "unknown";
}

// v1::State.What, in the words of the tool.
std::string StateName(uint32_t what) {
  static const std::map<uint32_t, const char*> names = {
      {1, "level"},          {2, "cupti_active"},     {3, "cupti_taken"},     {4, "cupti_missing"},
      {5, "cupti_returned"}, {6, "cuda_initialized"}, {7, "simulated_gpu"},   {8, "detached"},
      {9, "forked"},         {10, "streaming"},       {11, "disabled"},       {12, "drained"},
      {13, "mps"},           {14, "stacks_missing"},  {20, "cpus_available"}, {21, "cpu_throttled"}};
  const auto found = names.find(what);
  return found != names.end() ? found->second : absl::StrCat("state_", what);
}

}  // namespace

class EventDump::OneProcess : public EventSink {
 public:
  OneProcess(EventDump* dump, const ProcessInfo& process, const ProcessNames* names)
      : dump_(dump), names_(names), pid_(process.identity.pid) {
    EventLine line("process", pid_, process.agent_start, process.agent_start);
    line.Name(process.process_name).Word("executable", process.executable).Number("parent", process.parent_pid);
    line.Word("agent", process.agent_version).Number("level", process.level);
    if (process.simulated_gpu) line.Word("gpu", "simulated");
    Put(line, process.agent_start);
  }

  void OnThread(const ThreadInfo& thread) override {
    EventLine line("thread", pid_, thread.begin, thread.begin);
    Put(line.Thread(thread.tid, thread.name), thread.begin);
  }
  void OnWait(const WaitEvent& event) override {
    EventLine line = OfThread("wait", event.thread, event.begin, event.end);
    line.Name(OsCallName(event.call)).Handle("object", event.object).Number("result", event.result);
    line.NumberIfSet("count", event.count);
    AddStack(event.stack, &line);
    if (event.timeout_ns_plus_one != 0) line.Number("timeout_ns", static_cast<int64_t>(event.timeout_ns_plus_one - 1));
    Put(line, event.begin);
  }
  void OnWake(const WakeEvent& event) override {
    EventLine line = OfThread("wake", event.thread, event.at, event.at);
    line.Name(OsCallName(event.call)).Handle("object", event.object).NumberIfSet("woken_tid", event.woken_tid);
    if (event.fd_plus_one != 0) line.Number("fd", event.fd_plus_one - 1);
    AddStack(event.stack, &line);
    Put(line, event.at);
  }
  void OnCudaCall(const CudaCallEvent& event) override {
    EventLine line = OfThread("cuda", event.thread, event.begin, event.end);
    line.Name(names_->CallName(event.domain, event.call))
        .NumberIfSet((event.flags & wire::kCudaFlagSpin) != 0 ? "queries" : "correlation", event.correlation);
    line.Number("result", event.result).Handle("stream", event.stream);
    if (event.argument != 0) line.Handle("argument", event.argument);
    line.Number("class", static_cast<int64_t>(event.call_class)).NumberIfSet("flags", event.flags);
    AddStack(event.stack, &line);
    Put(line, event.begin);
  }
  void OnGpuOp(const GpuOpEvent& event) override {
    EventLine line("gpu", pid_, event.begin, event.end);
    const bool kernel = event.kind == wire::GpuOpKind::kKernel;
    line.Name(kernel ? DemangledKernelName(names_->String(event.name)) : std::string(GpuKindName(event.kind)));
    line.Word("op", GpuKindName(event.kind)).Number("device", event.device).Number("stream", event.stream);
    line.NumberIfSet("correlation", event.correlation).NumberIfSet("graph", event.graph);
    if (event.kind == wire::GpuOpKind::kCopy) line.Number("copy_kind", static_cast<int64_t>(event.copy_kind));
    if (event.argument != 0) line.Number(kernel ? "graph_node" : "bytes", static_cast<int64_t>(event.argument));
    Put(line, event.begin);
  }
  void OnMemory(const MemoryEvent& event) override {
    EventLine line("memory", pid_, event.begin, event.end);
    line.Name(MemoryOperationName(event.operation)).Handle("address", event.address);
    if (event.bytes != 0) line.Number("bytes", static_cast<int64_t>(event.bytes));
    if (event.extra != 0) line.Handle("extra", event.extra);
    line.Word("memory", MemoryKindName(event.memory_kind)).Number("device", event.device);
    line.NumberIfSet("correlation", event.correlation).NumberIfSet("flags", event.flags);
    Put(line, event.begin);
  }
  void OnCodeLoad(const CodeLoadEvent& event) override {
    EventLine line("load", pid_, event.begin, event.end);
    line.Name(CodeLoadName(event.kind)).NumberIfSet("tid", event.tid).NumberIfSet("correlation", event.correlation);
    Put(line.NumberIfSet("bytes", static_cast<int64_t>(event.bytes)), event.begin);
  }
  void OnContext(const ContextInfo& context) override {
    EventLine line("context", pid_, latest_, latest_);
    line.Number("context", context.id).Number("device", context.device);
    line.NumberIfSet("multiprocessors", context.multiprocessors).NumberIfSet("parent", context.parent);
    Put(line.NumberIfSet("green", context.green ? 1 : 0).NumberIfSet("mps", context.mps ? 1 : 0), latest_);
  }
  void OnNamed(const NamedInfo& named) override {
    EventLine line("name", pid_, latest_, latest_);
    Put(line.Name(named.name).Number("of", static_cast<int64_t>(named.kind)).Handle("value", named.value), latest_);
  }
  void OnRange(const RangeEvent& event) override {
    EventLine line = OfThread("range", event.thread, event.begin, event.end);
    line.Name(names_->String(event.text)).Word("range", RangeKindName(event.kind));
    if (event.domain != 0) line.Word("domain", names_->String(event.domain));
    line.NumberIfSet("number", static_cast<int64_t>(event.number)).NumberIfSet("range_id", event.range_id);
    Put(line, event.begin);
  }
  void OnState(const StateEvent& event) override {
    if (event.what == kStateDrained) return;  // says something about the stream, not about the program
    EventLine line("state", pid_, event.at, event.at);
    line.Name(StateName(event.what)).Number("what", event.what).Number("value", static_cast<int64_t>(event.value));
    if (!event.text.empty()) line.Word("text", event.text);
    Put(line, event.at);
  }
  void OnThreadSample(const ThreadSampleEvent& event) override {
    EventLine line = OfThread("sample", event.thread, event.at, event.at);
    line.Number("on_cpu_ns", static_cast<int64_t>(event.on_cpu_ns));
    line.Number("run_delay_ns", static_cast<int64_t>(event.run_delay_ns));
    line.Number("voluntary_switches", static_cast<int64_t>(event.voluntary_switches));
    line.Number("involuntary_switches", static_cast<int64_t>(event.involuntary_switches));
    Put(line, event.at);
  }
  void OnHealth(const HealthEvent& event) override {
    EventLine line("health", pid_, event.at, event.at);
    line.Number("events", static_cast<int64_t>(event.events))
        .Number("ring_lost", static_cast<int64_t>(event.ring_lost));
    line.Number("short_waits", static_cast<int64_t>(event.short_waits));
    line.Number("agent_cpu_ns", static_cast<int64_t>(event.agent_cpu_ns));
    line.Number("process_cpu_ns", static_cast<int64_t>(event.process_cpu_ns));
    line.Number("socket_bytes", static_cast<int64_t>(event.socket_bytes)).Number("level", event.level);
    Put(line, event.at);
  }
  void OnLoss(const LossEvent& event) override {
    EventLine line = OfThread("loss", event.thread, event.from, event.to);
    Put(line.Number("records", static_cast<int64_t>(event.records)), event.from);
  }
  void OnClock(HostNs monotonic, int64_t realtime_ns, uint64_t gpu_uncertainty_ns) override {
    EventLine line("clock", pid_, monotonic, monotonic);
    line.Number("realtime_ns", realtime_ns).Number("gpu_uncertainty_ns", static_cast<int64_t>(gpu_uncertainty_ns));
    Put(line, monotonic);
  }
  void OnGoodbye(HostNs at, bool exec) override {
    EventLine line("goodbye", pid_, at, at);
    Put(line.Word("by", exec ? "exec" : "exit"), at);
  }

 private:
  EventLine OfThread(const char* kind, ThreadIndex thread, HostNs begin, HostNs end) {
    EventLine line(kind, pid_, begin, end);
    if (const ThreadInfo* known = names_->Thread(thread)) line.Thread(known->tid, known->name);
    return line;
  }
  void AddStack(StackId id, EventLine* line) {
    if (id == 0) return;
    line->Number("stack", id);
    const StackInfo* stack = names_->Stack(id);
    if (stack == nullptr) return;
    std::vector<std::string> texts;
    const std::vector<FrameName> frames = dump_->stack_names_.Of(*names_, *stack);
    for (const FrameName& frame : frames) {
      texts.push_back(frame.Text());
      if (frame.line != 0) absl::StrAppend(&texts.back(), " (", frame.file, ":", frame.line, ")");
    }
    line->List("frames", std::move(texts), StackText(frames, stack->cut, kMostFramesInText));
  }
  void Put(const EventLine& line, HostNs at) {
    latest_ = std::max(latest_, at);
    dump_->Hold(at, dump_->format_ == DumpFormat::kJson ? line.Json() : line.Text());
  }

  EventDump* dump_;
  const ProcessNames* names_;
  uint32_t pid_;
  HostNs latest_ = 0;  // what has no time of its own is told with what came before it
};

EventDump::EventDump(std::ostream* out, DumpFormat format, uint32_t pid, size_t window_events)
    : out_(out), format_(format), pid_(pid), window_events_(window_events) {}
EventDump::~EventDump() = default;

EventSink* EventDump::OnProcess(const ProcessInfo& process, const ProcessNames* names) {
  if (pid_ != 0 && process.identity.pid != pid_) {
    processes_.push_back(std::make_unique<EventSink>());
  } else {
    processes_.push_back(std::make_unique<OneProcess>(this, process, names));
  }
  return processes_.back().get();
}

void EventDump::Hold(HostNs at, std::string line) {
  held_.push_back({at, events_++, std::move(line)});
  std::push_heap(held_.begin(), held_.end());
  if (held_.size() > window_events_) WriteEarliest();
}

void EventDump::WriteEarliest() {
  std::pop_heap(held_.begin(), held_.end());
  const Held& earliest = held_.back();
  if (earliest.at < written_until_) ++out_of_order_;
  written_until_ = std::max(written_until_, earliest.at);
  *out_ << earliest.line << '\n';
  held_.pop_back();
}

void EventDump::Finish() {
  while (!held_.empty()) WriteEarliest();
  out_->flush();
}

}  // namespace stallscope::cli
