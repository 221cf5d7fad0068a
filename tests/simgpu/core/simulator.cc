#include "tests/simgpu/core/simulator.h"

#include <algorithm>
#include <cstdlib>

#include "tests/simgpu/core/given_call.h"

namespace simgpu {
namespace {

BackPressureHook BackPressure(const TraceHooks* hooks) { return hooks == nullptr ? nullptr : hooks->back_pressure; }

uint64_t WakeNs(const Config& config, WaitMode mode) {
  switch (mode) {
    case WaitMode::kYield:
      return config.wake_yield_ns;
    case WaitMode::kBlock:
      return config.wake_block_ns;
    case WaitMode::kSpin:
      break;
  }
  return config.wake_spin_ns;
}

}  // namespace

Simulator& Simulator::Get() {
  static Simulator* simulator = [] {
    auto* created = new Simulator(ReadConfig(), MonotonicClock());
    if (created->truth().enabled()) {
      calls_are_logged.store(true, std::memory_order_relaxed);
      call_times_are_wanted.store(true, std::memory_order_relaxed);
      std::atexit([] { Simulator::Get().truth().Write(); });
    }
    return created;
  }();
  return *simulator;
}

Simulator::Simulator(const Config& config, Clock& clock)
    : config_(config),
      clock_(clock),
      memory_(config.MemoryBytes(), static_cast<int>(config.devices)),
      pools_(memory_, static_cast<int>(config.devices)),
      host_tasks_(clock_),
      truth_(config.truth_path) {
  for (int ordinal = 0; ordinal < static_cast<int>(config.devices); ++ordinal) {
    devices_.push_back(std::make_unique<Device>(ordinal, config_, clock_));
  }
}

Span Simulator::Submit(Stream* stream, const Work& work) {
  if (Capture* capture = stream->capture.load(std::memory_order_acquire); capture != nullptr) {
    capture->Append(stream, work);
    return {};
  }
  SettleHostTasks(stream);
  const TraceHooks* hooks = Hooks();
  const uint64_t queued_ns = clock_.NowNs();
  const Span span = stream->device()->Enqueue(stream, work, BackPressure(hooks));
  Perform(stream, work, span);
  if (hooks != nullptr || truth_.enabled()) {
    const Operation operation{&work, stream, CurrentCorrelationId(), queued_ns, span};
    if (hooks != nullptr) hooks->operation(operation);
    if (truth_.enabled()) truth_.AddOperation(operation);
  }
  clock_.WaitUntil(queued_ns + TakeCallDuration(config_.launch_call_ns), WaitMode::kSpin);
  return span;
}

void Simulator::SubmitGraph(Stream* stream, const GraphExec& exec) {
  thread_local std::vector<Span> node_spans;
  SettleHostTasks(stream);
  const TraceHooks* hooks = Hooks();
  const uint64_t queued_ns = clock_.NowNs();
  const Span span = stream->device()->EnqueueGraph(stream, exec, &node_spans, BackPressure(hooks));
  for (size_t i = 0; i < exec.nodes.size(); ++i) Perform(stream, exec.nodes[i].work, node_spans[i]);
  if (hooks != nullptr || truth_.enabled()) {
    const GraphOperation operation{&exec, stream, CurrentCorrelationId(), queued_ns, span, &node_spans};
    if (hooks != nullptr) hooks->graph(operation);
    if (truth_.enabled()) truth_.AddGraph(operation);
  }
  clock_.WaitUntil(queued_ns + TakeCallDuration(config_.graph_launch_call_ns), WaitMode::kSpin);
}

Event* Simulator::NewEvent(Device* device, bool timing, WaitMode wait_mode) {
  auto created = std::make_unique<Event>();
  Event* event = created.get();
  event->id = next_event_id_.fetch_add(1, std::memory_order_relaxed);
  event->timing = timing;
  event->wait_mode = wait_mode;
  event->device = device;
  std::lock_guard lock(events_mutex_);
  events_.emplace(event, std::move(created));
  return event;
}

void Simulator::DestroyEvent(Event* event) {
  std::lock_guard lock(events_mutex_);
  events_.erase(event);
}

uint64_t Event::MarkNs() const {
  const auto* shared = shared_mark_ns.load(std::memory_order_acquire);
  return shared != nullptr ? shared->load(std::memory_order_acquire) : mark_ns.load(std::memory_order_acquire);
}

void Simulator::RecordEvent(Event* event, Stream* stream, bool external) {
  if (Capture* capture = stream->capture.load(std::memory_order_acquire); capture != nullptr) {
    if (external) return capture->Append(stream, EventWork{event, false});
    event->capture_nodes = capture->Tail(stream);
    event->capture_id = capture->id();
    return;
  }
  event->capture_id = 0;
  SettleHostTasks(stream);
  if (stream->has_host_tasks.load(std::memory_order_acquire) || event->has_host_tasks.load(std::memory_order_acquire)) {
    std::lock_guard lock(host_mutex_);
    event->host_tasks = stream->host_tasks;
    event->has_host_tasks.store(!event->host_tasks.empty(), std::memory_order_release);
  }
  const uint64_t mark_ns = stream->device()->RecordMark(stream);
  event->stream_id.store(stream->id(), std::memory_order_relaxed);
  event->mark_ns.store(mark_ns, std::memory_order_release);
  if (auto* shared = event->shared_mark_ns.load(std::memory_order_acquire)) shared->store(mark_ns);
}

void Simulator::StreamWaitEvent(Stream* stream, Event* event, bool external) {
  if (Capture* capture = stream->capture.load(std::memory_order_acquire); external && capture != nullptr) {
    return capture->Append(stream, EventWork{event, true});
  }
  if (event->capture_id != 0) {
    std::lock_guard lock(captures_mutex_);
    auto found = captures_.find(event->capture_id);
    if (found != captures_.end()) found->second->Join(stream, event->capture_nodes);
    return;
  }
  if (event->has_host_tasks.load(std::memory_order_acquire)) {
    std::lock_guard lock(host_mutex_);
    stream->host_tasks.insert(stream->host_tasks.end(), event->host_tasks.begin(), event->host_tasks.end());
    stream->has_host_tasks.store(!stream->host_tasks.empty(), std::memory_order_release);
  }
  stream->device()->WaitForMark(stream, event->MarkNs());
}

bool Simulator::BeginCapture(Stream* stream, Graph* graph, std::vector<int> dependencies) {
  if (stream->capture.load(std::memory_order_acquire) != nullptr) return false;
  auto capture = std::make_unique<Capture>(stream, graph, std::move(dependencies));
  std::lock_guard lock(captures_mutex_);
  captures_.emplace(capture->id(), std::move(capture));
  capture_count_.store(captures_.size(), std::memory_order_relaxed);
  return true;
}

Graph* Simulator::EndCapture(Stream* stream) {
  Capture* capture = stream->capture.load(std::memory_order_acquire);
  if (capture == nullptr || capture->origin() != stream) return nullptr;
  Graph* graph = capture->End();
  std::lock_guard lock(captures_mutex_);
  captures_.erase(capture->id());
  capture_count_.store(captures_.size(), std::memory_order_relaxed);
  return graph;
}

bool Simulator::InvalidateBlockingCaptures(const Device* device) {
  if (capture_count_.load(std::memory_order_relaxed) == 0) return false;
  bool any = false;
  std::lock_guard lock(captures_mutex_);
  for (auto& [id, capture] : captures_) {
    const Stream* origin = capture->origin();
    if (origin->device() != device || origin->kind() != StreamKind::kBlocking) continue;
    capture->Invalidate();
    any = true;
  }
  return any;
}

void Simulator::BlockUntil(uint64_t ready_ns, WaitMode mode, const char* kind, Awaited awaited) {
  const uint64_t begin_ns = clock_.NowNs();
  const uint64_t earliest_end_ns = begin_ns + TakeCallDuration(0);
  if (ready_ns > begin_ns) clock_.WaitUntil(std::max(ready_ns + WakeNs(config_, mode), earliest_end_ns), mode);
  if (earliest_end_ns > begin_ns) clock_.WaitUntil(earliest_end_ns, mode);
  if (truth_.enabled()) truth_.AddWait(kind, awaited, begin_ns, ready_ns, clock_.NowNs());
}

void Simulator::SpendHostTime(uint64_t ns) {
  ns = TakeCallDuration(ns);
  if (ns != 0) clock_.WaitUntil(clock_.NowNs() + ns, WaitMode::kSpin);
}

}  // namespace simgpu
