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
      std::atexit([] { Simulator::Get().truth().Write(); });
    }
    return created;
  }();
  return *simulator;
}

Simulator::Simulator(const Config& config, Clock& clock)
    : config_(config), clock_(clock), memory_(config.MemoryBytes() * config.devices), truth_(config.truth_path) {
  for (int ordinal = 0; ordinal < static_cast<int>(config.devices); ++ordinal) {
    devices_.push_back(std::make_unique<Device>(ordinal, config_, clock_));
  }
}

Span Simulator::Submit(Stream* stream, const Work& work) {
  if (Capture* capture = stream->capture.load(std::memory_order_acquire); capture != nullptr) {
    capture->Append(stream, work);
    return {};
  }
  const TraceHooks* hooks = Hooks();
  const uint64_t queued_ns = clock_.NowNs();
  const Span span = stream->device()->Enqueue(stream, work, BackPressure(hooks));
  MoveBytes(work);
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
  const TraceHooks* hooks = Hooks();
  const uint64_t queued_ns = clock_.NowNs();
  const Span span = stream->device()->EnqueueGraph(stream, exec, &node_spans, BackPressure(hooks));
  for (const GraphNode& node : exec.nodes) MoveBytes(node.work);
  if (hooks != nullptr || truth_.enabled()) {
    const GraphOperation operation{&exec, stream, CurrentCorrelationId(), queued_ns, span, &node_spans};
    if (hooks != nullptr) hooks->graph(operation);
    if (truth_.enabled()) truth_.AddGraph(operation);
  }
  clock_.WaitUntil(queued_ns + TakeCallDuration(config_.graph_launch_call_ns), WaitMode::kSpin);
}

Event* Simulator::NewEvent(Device* device, bool timing, WaitMode wait_mode) {
  auto* event = new Event;
  event->id = next_event_id_.fetch_add(1, std::memory_order_relaxed);
  event->timing = timing;
  event->wait_mode = wait_mode;
  event->device = device;
  return event;
}

void Simulator::RecordEvent(Event* event, Stream* stream) {
  if (Capture* capture = stream->capture.load(std::memory_order_acquire); capture != nullptr) {
    event->capture_nodes = capture->Tail(stream);
    event->capture_id = capture->id();
    return;
  }
  event->capture_id = 0;
  event->mark_ns.store(stream->device()->RecordMark(stream), std::memory_order_release);
}

void Simulator::StreamWaitEvent(Stream* stream, Event* event) {
  if (event->capture_id != 0) {
    std::lock_guard lock(captures_mutex_);
    auto found = captures_.find(event->capture_id);
    if (found != captures_.end()) found->second->Join(stream, event->capture_nodes);
    return;
  }
  stream->device()->WaitForMark(stream, event->mark_ns.load(std::memory_order_acquire));
}

bool Simulator::BeginCapture(Stream* stream) {
  if (stream->capture.load(std::memory_order_acquire) != nullptr) return false;
  auto capture = std::make_unique<Capture>(stream);
  std::lock_guard lock(captures_mutex_);
  captures_.emplace(capture->id(), std::move(capture));
  return true;
}

Graph* Simulator::EndCapture(Stream* stream) {
  Capture* capture = stream->capture.load(std::memory_order_acquire);
  if (capture == nullptr || capture->origin() != stream) return nullptr;
  Graph* graph = capture->End();
  std::lock_guard lock(captures_mutex_);
  captures_.erase(capture->id());
  return graph;
}

void Simulator::BlockUntil(uint64_t ready_ns, WaitMode mode, const char* kind) {
  const uint64_t begin_ns = clock_.NowNs();
  const uint64_t earliest_end_ns = begin_ns + TakeCallDuration(0);
  if (ready_ns > begin_ns) clock_.WaitUntil(std::max(ready_ns + WakeNs(config_, mode), earliest_end_ns), mode);
  if (earliest_end_ns > begin_ns) clock_.WaitUntil(earliest_end_ns, mode);
  if (truth_.enabled()) truth_.AddWait(kind, begin_ns, ready_ns, clock_.NowNs());
}

void Simulator::SpendHostTime(uint64_t ns) {
  ns = TakeCallDuration(ns);
  if (ns != 0) clock_.WaitUntil(clock_.NowNs() + ns, WaitMode::kSpin);
}

}  // namespace simgpu
