#include "tests/simgpu/core/timeline.h"

#include <algorithm>

#include "tests/simgpu/core/given_call.h"
#include "tests/simgpu/core/graph.h"

namespace simgpu {
namespace {

// CUPTI numbers the default stream 7 and streams of the program from 13 on (seen on CUDA 12 and 13 traces).
constexpr uint32_t kLegacyStreamId = 7;
constexpr uint32_t kFirstStreamId = 13;

}  // namespace

Device::Device(int ordinal, const Config& config, Clock& clock)
    : ordinal_(ordinal),
      config_(config),
      clock_(clock),
      next_stream_id_(kFirstStreamId),
      legacy_(this, kLegacyStreamId, StreamKind::kLegacy, 0, static_cast<uint32_t>(config.queue_depth)) {}

Stream* Device::CreateStream(StreamKind kind, int priority) {
  auto stream = std::make_unique<Stream>(this, next_stream_id_.fetch_add(1, std::memory_order_relaxed), kind, priority,
                                         static_cast<uint32_t>(config_.queue_depth));
  std::lock_guard lock(mutex_);
  return streams_.emplace_back(std::move(stream)).get();
}

void Device::DestroyStream(Stream* stream) {
  std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const std::unique_ptr<Stream>& known) { return known.get() == stream; });
}

std::vector<StreamInfo> Device::Streams() {
  std::lock_guard lock(mutex_);
  std::vector<StreamInfo> infos;
  for (const auto& stream : streams_) infos.push_back({stream->id(), stream->kind(), stream->priority()});
  return infos;
}

uint64_t Device::ReadyNs(const Stream& stream, uint64_t latency_ns, uint64_t now_ns, const GivenTiming& given) const {
  uint64_t ready_ns = given.has_begin ? std::max(now_ns, given.begin_ns) : now_ns + latency_ns;
  const uint64_t gap_ns = given.has_begin ? 0 : config_.stream_gap_ns;
  const auto after = [&](uint64_t tail_ns) {
    if (tail_ns != 0) ready_ns = std::max(ready_ns, tail_ns + gap_ns);
  };
  after(stream.tail_ns_);
  if (stream.kind_ == StreamKind::kLegacy) after(blocking_tail_ns_);
  if (stream.kind_ == StreamKind::kBlocking) after(legacy_.tail_ns_);
  return ready_ns;
}

void Device::Occupy(Stream* stream, uint64_t end_ns) {
  stream->tail_ns_ = end_ns;
  stream->end_ns_ring_[stream->enqueued_++ % stream->end_ns_ring_.size()] = end_ns;
  if (stream->kind_ == StreamKind::kBlocking) blocking_tail_ns_ = std::max(blocking_tail_ns_, end_ns);
  device_tail_ns_ = std::max(device_tail_ns_, end_ns);
}

uint64_t Device::WaitForRoom(Stream* stream, std::unique_lock<std::mutex>* lock, BackPressureHook back_pressure) {
  for (;;) {
    const uint64_t now_ns = clock_.NowNs();
    // The slot of the next operation still holds the end of the one `queue_depth` before it.
    const uint64_t room_ns = stream->end_ns_ring_[stream->enqueued_ % stream->end_ns_ring_.size()];
    if (room_ns <= now_ns) return now_ns;
    lock->unlock();
    clock_.WaitUntil(room_ns, WaitMode::kSpin);
    if (back_pressure != nullptr) back_pressure(now_ns, clock_.NowNs());
    lock->lock();
  }
}

uint64_t Device::Engage(Engine engine, uint64_t begin_ns, uint64_t duration_ns, const GivenTiming& given) {
  if (engine == Engine::kNone || given.has_begin) return begin_ns;
  uint64_t& engine_tail_ns = engine_tail_ns_[static_cast<int>(engine)];
  begin_ns = std::max(begin_ns, engine_tail_ns);
  engine_tail_ns = begin_ns + duration_ns;
  return begin_ns;
}

Span Device::Enqueue(Stream* stream, const Work& work, BackPressureHook back_pressure) {
  const GivenTiming given = TakeGivenTiming();
  const uint64_t duration_ns = given.duration_ns != 0 ? given.duration_ns : DurationNs(work, config_);
  std::unique_lock lock(mutex_);
  const uint64_t now_ns = WaitForRoom(stream, &lock, back_pressure);
  Span span;
  span.begin_ns = ReadyNs(*stream, config_.launch_latency_ns, now_ns, given);
  span.begin_ns = Engage(EngineOf(work), span.begin_ns, duration_ns, given);
  span.end_ns = span.begin_ns + duration_ns;
  Occupy(stream, span.end_ns);
  return span;
}

Span Device::EnqueueGraph(Stream* stream, const GraphExec& exec, std::vector<Span>* node_spans,
                          BackPressureHook back_pressure) {
  const GivenTiming given = TakeGivenTiming();
  const GivenNodes given_nodes = TakeGivenNodes();
  node_spans->resize(exec.nodes.size());
  std::unique_lock lock(mutex_);
  const uint64_t now_ns = WaitForRoom(stream, &lock, back_pressure);
  const uint64_t ready_ns = ReadyNs(*stream, config_.graph_launch_latency_ns, now_ns, given);
  Span whole{ready_ns, ready_ns};
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const GraphNode& node = exec.nodes[i];
    const uint64_t gap_ns = node.given.has_begin ? 0 : config_.graph_node_gap_ns;
    uint64_t begin_ns = std::max(ready_ns + node.given.begin_ns, EarliestNs(node.work));
    for (int dependency : node.dependencies) {
      begin_ns = std::max(begin_ns, (*node_spans)[dependency].end_ns + gap_ns);
    }
    uint64_t duration_ns = given_nodes[i];
    if (duration_ns == 0) duration_ns = node.given.duration_ns;
    if (duration_ns == 0) duration_ns = DurationNs(node.work, config_);
    begin_ns = Engage(EngineOf(node.work), begin_ns, duration_ns, node.given);
    (*node_spans)[i] = {begin_ns, begin_ns + duration_ns};
    whole.end_ns = std::max(whole.end_ns, begin_ns + duration_ns);
  }
  Occupy(stream, whole.end_ns);
  return whole;
}

uint64_t Device::RecordMark(Stream* stream) {
  std::lock_guard lock(mutex_);
  uint64_t mark_ns = std::max(clock_.NowNs() + config_.launch_latency_ns, stream->tail_ns_);
  if (stream->kind_ == StreamKind::kLegacy) mark_ns = std::max(mark_ns, blocking_tail_ns_);
  if (stream->kind_ == StreamKind::kBlocking) mark_ns = std::max(mark_ns, legacy_.tail_ns_);
  stream->tail_ns_ = mark_ns;
  if (stream->kind_ == StreamKind::kBlocking) blocking_tail_ns_ = std::max(blocking_tail_ns_, mark_ns);
  device_tail_ns_ = std::max(device_tail_ns_, mark_ns);
  return mark_ns;
}

void Device::WaitForMark(Stream* stream, uint64_t mark_ns) {
  std::lock_guard lock(mutex_);
  stream->tail_ns_ = std::max(stream->tail_ns_, mark_ns);
  if (stream->kind_ == StreamKind::kBlocking) blocking_tail_ns_ = std::max(blocking_tail_ns_, stream->tail_ns_);
  device_tail_ns_ = std::max(device_tail_ns_, stream->tail_ns_);
}

uint64_t Device::StreamEndNs(Stream* stream) {
  std::lock_guard lock(mutex_);
  if (stream->kind_ == StreamKind::kLegacy) return std::max(stream->tail_ns_, blocking_tail_ns_);
  return stream->tail_ns_;
}

uint64_t Device::DeviceEndNs() {
  std::lock_guard lock(mutex_);
  return device_tail_ns_;
}

}  // namespace simgpu
