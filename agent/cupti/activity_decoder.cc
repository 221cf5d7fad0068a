#include "agent/cupti/activity_decoder.h"

#include <string.h>

#include <cstddef>

#include "agent/cupti/record_fields.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::CopyKind;
using wire::Counter;
using wire::GpuOpKind;

// How far a GPU time may lie outside the process's life before it is taken for another clock's: CUPTI fits the GPU's
// clock to ours with some microseconds of error.
constexpr uint64_t kClockMarginNs = 1'000'000;

// The same for a record against its own launch. An H200 was seen 9 us off.
constexpr uint64_t kLaunchMarginNs = 100'000;

// The collector closes a step without the records that come later than this, and corrects it when they do.
constexpr uint64_t kLateNs = 2'000'000'000;

uint64_t TicksPerNsQ20() {
  const uint64_t ticks_per_ns = g_ticks_per_ns_q20.load(std::memory_order_relaxed);
  return ticks_per_ns != 0 ? ticks_per_ns : uint64_t{1} << 20;
}

CopyKind CopyKindOf(uint8_t cupti_kind) {
  switch (cupti_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return CopyKind::kHostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return CopyKind::kDeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return CopyKind::kDeviceToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return CopyKind::kHostToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return CopyKind::kPeerToPeer;
    default:
      return CopyKind::kUnknown;
  }
}

// Fields that every kind has.
RecordFields GpuOp(GpuOpKind kind, uint64_t begin_ns, uint64_t duration_ns, uint32_t correlation_id,
                   uint32_t context_id, uint32_t stream_id) {
  RecordFields fields;
  fields.begin = begin_ns;
  fields.duration = duration_ns;
  fields.id = correlation_id;
  fields.stack = stream_id;
  fields.kind = wire::RecordKind::kGpuOp;
  fields.call = static_cast<uint16_t>(kind);
  fields.result = static_cast<int32_t>(context_id);
  return fields;
}

}  // namespace

void ActivityDecoder::SetUp(uint64_t process_start_ns, bool simulated_gpu) noexcept {
  process_start_ns_ = process_start_ns;
  simulated_gpu_ = simulated_gpu;
}

void ActivityDecoder::UseParser(const RecordParser& parser, const RecordSizes& sizes) noexcept {
  // A buffer of an earlier turn may be being read just now: what has not changed is not written again.
  if (!(parser == parser_)) parser_ = parser;
  if (memcmp(&sizes, &sizes_, sizeof(sizes)) != 0) sizes_ = sizes;
}

uint64_t ActivityDecoder::Decode(uint8_t* buffer, size_t valid_bytes, uint64_t now_ns) noexcept {
  uint64_t operations = 0, told = 0;
  const Now now = {now_ns, Ticks()};
  CUpti_Activity* record = nullptr;
  for (;;) {
    const CUptiResult status = parser_.Next(buffer, valid_bytes, &record);
    if (status == CUPTI_ERROR_MAX_LIMIT_REACHED) break;  // the end
    if (status != CUPTI_SUCCESS) {
      // A kind that even its own library cannot step over: the rest of the buffer is lost.
      Count(status == CUPTI_ERROR_INVALID_KIND ? Counter::kGpuUnknownKind : Counter::kCuptiErrors);
      break;
    }
    if (DecodeRecord(record, now)) ++operations;
    if (record->kind != CUPTI_ACTIVITY_KIND_OVERHEAD) ++told;
  }
  if (told != 0) told_.fetch_add(told, std::memory_order_relaxed);
  return operations;
}

bool ActivityDecoder::DecodeRecord(const CUpti_Activity* record, const Now& now) noexcept {
  const uint32_t bytes = sizes_.Of(record->kind);
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return DecodeKernel(reinterpret_cast<const CUpti_ActivityKernel10*>(record), bytes, now);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return DecodeCopy(reinterpret_cast<const CUpti_ActivityMemcpy6*>(record), bytes, now);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return DecodePeerCopy(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record), bytes, now);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return DecodeMemset(reinterpret_cast<const CUpti_ActivityMemset4*>(record), bytes, now);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return DecodeGraph(reinterpret_cast<const CUpti_ActivityGraphTrace2*>(record), now);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return DecodeSync(reinterpret_cast<const CUpti_ActivitySynchronization2*>(record), now);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      DecodeDevice(reinterpret_cast<const CUpti_ActivityDevice5*>(record), bytes);
      return false;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      DecodeContext(reinterpret_cast<const CUpti_ActivityContext3*>(record), bytes);
      return false;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      DecodeMemory(reinterpret_cast<const CUpti_ActivityMemory4*>(record), bytes, now);
      return false;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      DecodePool(reinterpret_cast<const CUpti_ActivityMemoryPool3*>(record), bytes, now);
      return false;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      DecodeUnifiedMemory(reinterpret_cast<const CUpti_ActivityUnifiedMemoryCounter3*>(record), bytes, now);
      return false;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      DecodeOverhead(reinterpret_cast<const CUpti_ActivityOverhead3*>(record), bytes, now);
      return false;
    case CUPTI_ACTIVITY_KIND_JIT:
      DecodeJit(reinterpret_cast<const CUpti_ActivityJit2*>(record), bytes, now);
      return false;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return false;  // enabled by somebody else; calls come from callbacks (docs/decisions/0002)
    default:
      Count(Counter::kGpuUnknownKind);
      return false;
  }
}

bool ActivityDecoder::CheckTimes(uint64_t start, uint64_t end, uint32_t correlation_id, const Now& now,
                                 Span* span) const noexcept {
  if (start == CUPTI_TIMESTAMP_UNKNOWN || end == CUPTI_TIMESTAMP_UNKNOWN) {
    Count(start != CUPTI_TIMESTAMP_UNKNOWN ? Counter::kGpuUnfinished : Counter::kGpuZeroTime);
    return false;
  }
  if (end < start) {
    Count(Counter::kGpuReversedTime);
    return false;
  }
  const uint64_t begin_ns = clock_.ToMonotonic(start), end_ns = clock_.ToMonotonic(end);
  if (end_ns < begin_ns || end_ns > now.ns + kClockMarginNs) {
    Count(Counter::kGpuOtherClock);
    return false;
  }
  const uint64_t age_ticks = launch_times_.AgeTicks(correlation_id, now.ticks);
  const uint64_t age_ns = (age_ticks << 20) / TicksPerNsQ20();
  const bool before_launch = age_ticks != 0 && begin_ns + kLaunchMarginNs + age_ns < now.ns;
  if (before_launch || begin_ns + kClockMarginNs < process_start_ns_) {
    Count(Counter::kGpuBeforeLaunch);
    return false;
  }
  if (end_ns + kLateNs < now.ns) Count(Counter::kGpuLate);
  *span = {begin_ns, end_ns - begin_ns};
  return true;
}

bool ActivityDecoder::DecodeKernel(const CUpti_ActivityKernel10* kernel, uint32_t bytes, const Now& now) noexcept {
  Span span;
  if (!CheckTimes(kernel->start, kernel->end, kernel->correlationId, now, &span)) return false;
  RecordFields fields = GpuOp(GpuOpKind::kKernel, span.begin_ns, span.duration_ns, kernel->correlationId,
                              kernel->contextId, kernel->streamId);
  fields.object = names_.IdOf(kernel->name);
  if (shapes_.load(std::memory_order_relaxed)) {
    const uint32_t shape[6] = {static_cast<uint32_t>(kernel->gridX),  static_cast<uint32_t>(kernel->gridY),
                               static_cast<uint32_t>(kernel->gridZ),  static_cast<uint32_t>(kernel->blockX),
                               static_cast<uint32_t>(kernel->blockY), static_cast<uint32_t>(kernel->blockZ)};
    fields.object |= static_cast<uint64_t>(InternShape(shape)) << 32;
  }
  fields.argument = FIELD_OR_ZERO(kernel, bytes, CUpti_ActivityKernel10, graphNodeId);
  const uint32_t graph_id = FIELD_OR_ZERO(kernel, bytes, CUpti_ActivityKernel10, graphId);
  if (graph_id != 0) learnt_[graph_id % kGraphs].store(graph_id, std::memory_order_relaxed);
  fields.detail = wire::PackGpuDetail(kernel->deviceId, CopyKind::kHostToHost, 0, 0, graph_id);
  Commit(fields);
  return true;
}

bool ActivityDecoder::DecodeCopy(const CUpti_ActivityMemcpy6* copy, uint32_t bytes, const Now& now) noexcept {
  Span span;
  if (!CheckTimes(copy->start, copy->end, copy->correlationId, now, &span)) return false;
  RecordFields fields =
      GpuOp(GpuOpKind::kCopy, span.begin_ns, span.duration_ns, copy->correlationId, copy->contextId, copy->streamId);
  fields.argument = copy->bytes;
  const uint32_t graph_id = FIELD_OR_ZERO(copy, bytes, CUpti_ActivityMemcpy6, graphId);
  fields.detail =
      wire::PackGpuDetail(copy->deviceId, CopyKindOf(copy->copyKind), copy->srcKind, copy->dstKind, graph_id);
  Commit(fields);
  return true;
}

bool ActivityDecoder::DecodePeerCopy(const CUpti_ActivityMemcpyPtoP4* copy, uint32_t bytes, const Now& now) noexcept {
  Span span;
  if (!CheckTimes(copy->start, copy->end, copy->correlationId, now, &span)) return false;
  RecordFields fields =
      GpuOp(GpuOpKind::kCopy, span.begin_ns, span.duration_ns, copy->correlationId, copy->contextId, copy->streamId);
  fields.argument = copy->bytes;
  const uint32_t graph_id = FIELD_OR_ZERO(copy, bytes, CUpti_ActivityMemcpyPtoP4, graphId);
  fields.detail = wire::PackGpuDetail(copy->deviceId, CopyKind::kPeerToPeer, copy->srcKind, copy->dstKind, graph_id);
  Commit(fields);
  return true;
}

bool ActivityDecoder::DecodeMemset(const CUpti_ActivityMemset4* memset, uint32_t bytes, const Now& now) noexcept {
  Span span;
  if (!CheckTimes(memset->start, memset->end, memset->correlationId, now, &span)) return false;
  RecordFields fields = GpuOp(GpuOpKind::kMemset, span.begin_ns, span.duration_ns, memset->correlationId,
                              memset->contextId, memset->streamId);
  fields.argument = memset->bytes;
  const auto memory_kind = static_cast<uint8_t>(FIELD_OR_ZERO(memset, bytes, CUpti_ActivityMemset4, memoryKind));
  const uint32_t graph_id = FIELD_OR_ZERO(memset, bytes, CUpti_ActivityMemset4, graphId);
  fields.detail = wire::PackGpuDetail(memset->deviceId, CopyKind::kHostToHost, 0, memory_kind, graph_id);
  Commit(fields);
  return true;
}

bool ActivityDecoder::DecodeGraph(const CUpti_ActivityGraphTrace2* graph, const Now& now) noexcept {
  Span span;
  if (!CheckTimes(graph->start, graph->end, graph->correlationId, now, &span)) return false;
  RecordFields fields = GpuOp(GpuOpKind::kGraph, span.begin_ns, span.duration_ns, graph->correlationId,
                              graph->contextId, graph->streamId);
  fields.detail = wire::PackGpuDetail(graph->deviceId, CopyKind::kHostToHost, 0, 0, graph->graphId);
  if (learnt_[graph->graphId % kGraphs].load(std::memory_order_relaxed) != graph->graphId) {
    unlearned_.store(true, std::memory_order_relaxed);
  }
  Commit(fields);
  return true;
}

bool ActivityDecoder::DecodeSync(const CUpti_ActivitySynchronization2* sync, const Now& now) noexcept {
  Span span;
  if (!CheckTimes(sync->start, sync->end, sync->correlationId, now, &span)) return false;
  // Without a stream the field holds CUPTI_SYNCHRONIZATION_INVALID_VALUE, which is no stream id.
  const uint32_t stream_id =
      sync->streamId == static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE) ? 0 : sync->streamId;
  RecordFields fields =
      GpuOp(GpuOpKind::kSync, span.begin_ns, span.duration_ns, sync->correlationId, sync->contextId, stream_id);
  fields.argument = static_cast<uint64_t>(sync->type);
  Commit(fields);
  return true;
}

void ActivityDecoder::DecodeDevice(const CUpti_ActivityDevice5* device, uint32_t bytes) noexcept {
  DevicePart part;
  const auto* uuid = reinterpret_cast<const uint8_t*>(&device->uuid);
  if (FIELD_OR_ZERO(device, bytes, CUpti_ActivityDevice5, isMigEnabled) != 0) {
    part = {true, FIELD_OR_ZERO(device, bytes, CUpti_ActivityDevice5, gpuInstanceId),
            FIELD_OR_ZERO(device, bytes, CUpti_ActivityDevice5, computeInstanceId)};
    if (offsetof(CUpti_ActivityDevice5, migUuid) + sizeof(device->migUuid) <= bytes) {
      uuid = reinterpret_cast<const uint8_t*>(&device->migUuid);
    }
  }
  ReportDevice(device->id, device->name, uuid, device->numMultiprocessors, simulated_gpu_, part);
}

}  // namespace stallscope::agent
