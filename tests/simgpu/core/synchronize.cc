// Waiting for the device and for the host functions in its streams.
#include "tests/simgpu/core/given_call.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

bool MovesBytes(const Work& work) {
  return std::holds_alternative<CopyWork>(work) || std::holds_alternative<FillWork>(work);
}

// What the driver copies out of the program's memory before the call returns.
constexpr uint64_t kStagedBytes = 64 << 10;

bool WithinDevice(const Work& work) {
  const auto* copy = std::get_if<CopyWork>(&work);
  return copy != nullptr && !OnHost(copy->source_kind) && !OnHost(copy->destination_kind);
}

}  // namespace

uint64_t EarliestNs(const Work& work) {
  const auto* event_work = std::get_if<EventWork>(&work);
  return event_work != nullptr && event_work->waits ? event_work->event->MarkNs() : 0;
}

bool Simulator::WaitsForHost(Stream* stream) {
  if (!host_tasks_.any_pending()) return false;
  if (stream->has_host_tasks.load(std::memory_order_acquire)) return true;
  // The default stream waits for all blocking streams and they for it.
  return stream->kind() != StreamKind::kNonBlocking;
}

void Simulator::Perform(Stream* stream, const Work& work, Span span) {
  if (std::holds_alternative<HostWork>(work) || (MovesBytes(work) && WaitsForHost(stream))) {
    Defer(stream, work, span);
    return;
  }
  if (const auto* event_work = std::get_if<EventWork>(&work); event_work != nullptr && !event_work->waits) {
    event_work->event->stream_id.store(stream->id(), std::memory_order_relaxed);
    event_work->event->mark_ns.store(span.end_ns, std::memory_order_release);
  }
  if (CopiesMove() || !WithinDevice(work)) MoveBytes(work);
}

void Simulator::Defer(Stream* stream, const Work& work, Span span) {
  std::function<void()> body;
  if (const auto* host = std::get_if<HostWork>(&work)) {
    body = [call = *host] { call.function(call.argument); };
  } else {
    const auto* copy = std::get_if<CopyWork>(&work);
    const bool staged = copy != nullptr && copy->asynchronous && copy->source_kind == MemoryKind::kPageable &&
                        copy->rows == 1 && copy->Bytes() <= kStagedBytes;
    if (staged) {
      body = [moved = *copy, bytes = std::string(static_cast<const char*>(copy->source), copy->Bytes())] {
        CopyWork from_stage = moved;
        from_stage.source = bytes.data();
        MoveBytes(from_stage);
      };
    } else {
      body = [work] { MoveBytes(work); };
    }
  }
  std::shared_ptr<HostTask> task = host_tasks_.Add(span.begin_ns, std::move(body));
  std::lock_guard lock(host_mutex_);
  // Tasks run in the order of their begin, so the last one stands for those before it on the stream.
  stream->host_tasks.assign(1, std::move(task));
  stream->has_host_tasks.store(true, std::memory_order_release);
}

void Simulator::SettleHostTasks(Stream* stream) {
  if (!stream->has_host_tasks.load(std::memory_order_acquire)) return;
  uint64_t late_ns = 0;
  {
    std::lock_guard lock(host_mutex_);
    late_ns = DropFinished(&stream->host_tasks);
    stream->has_host_tasks.store(!stream->host_tasks.empty(), std::memory_order_release);
  }
  if (late_ns != 0) stream->device()->WaitForMark(stream, late_ns);
}

void Simulator::SynchronizeStream(Stream* stream, WaitMode mode, const char* kind) {
  BlockUntil(stream->device()->StreamEndNs(stream), mode, kind, {stream->device()->ordinal(), stream->id()});
  WaitForHostTasks(stream);
  pools_.AfterSynchronize();
}

void Simulator::WaitForHostTasks(Stream* stream) {
  if (!host_tasks_.any_pending()) return;
  if (stream->kind() == StreamKind::kLegacy) return host_tasks_.WaitForAll();
  HostTaskList tasks;
  {
    std::lock_guard lock(host_mutex_);
    tasks = stream->host_tasks;
  }
  host_tasks_.Wait(tasks);
}

void Simulator::SynchronizeEvent(Event* event) {
  const Awaited awaited{event->device == nullptr ? -1 : event->device->ordinal(), event->stream_id.load()};
  BlockUntil(event->MarkNs(), event->wait_mode, "event", awaited);
  if (event->has_host_tasks.load(std::memory_order_acquire)) {
    HostTaskList tasks;
    {
      std::lock_guard lock(host_mutex_);
      tasks = event->host_tasks;
    }
    host_tasks_.Wait(tasks);
  }
  pools_.AfterSynchronize();
}

void Simulator::SynchronizeDevice(Device* device, WaitMode mode) {
  BlockUntil(device->DeviceEndNs(), mode, "context", {device->ordinal(), 0});
  host_tasks_.WaitForAll();
  pools_.AfterSynchronize();
}

bool Simulator::StreamIsDone(Stream* stream) {
  SettleHostTasks(stream);
  if (stream->kind() == StreamKind::kLegacy && host_tasks_.any_pending()) return false;
  return !stream->has_host_tasks.load(std::memory_order_acquire) &&
         stream->device()->StreamEndNs(stream) <= clock_.NowNs();
}

bool Simulator::EventIsDone(Event* event) {
  if (event->has_host_tasks.load(std::memory_order_acquire)) {
    std::lock_guard lock(host_mutex_);
    DropFinished(&event->host_tasks);
    event->has_host_tasks.store(!event->host_tasks.empty(), std::memory_order_release);
    if (!event->host_tasks.empty()) return false;
  }
  return event->MarkNs() <= clock_.NowNs();
}

}  // namespace simgpu
