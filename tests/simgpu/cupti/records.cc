#include "tests/simgpu/cupti/records.h"

#include <unistd.h>

#include <cstring>

#include "tests/simgpu/core/device_properties.h"
#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {
namespace {

constexpr char kMigDeviceName[] = "Simulated GPU (part of an H200-like: MIG 1g.18gb)";

template <typename Record>
Record Blank(CUpti_ActivityKind kind) {
  Record record;
  std::memset(&record, 0, sizeof record);
  record.kind = kind;
  return record;
}

// Where and for which call: the fields that every operation's record has.
template <typename Record>
void Place(const Operation& operation, Record* record) {
  record->deviceId = static_cast<uint32_t>(operation.stream->device()->ordinal());
  record->contextId = operation.stream->device()->context_id();
  record->streamId = operation.stream->id();
  record->correlationId = operation.correlation_id;
  record->graphId = operation.graph_id;
  record->graphNodeId = operation.graph_node_id;
}

uint8_t MemoryKindOf(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable:
      return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    case MemoryKind::kPinned:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case MemoryKind::kManaged:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    case MemoryKind::kDevice:
      break;
  }
  return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
}

uint8_t CopyKindOf(const CopyWork& copy) {
  const bool from_host = OnHost(copy.source_kind), to_host = OnHost(copy.destination_kind);
  if (from_host && to_host) return CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
  if (from_host) return CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  return to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

CUpti_ActivitySynchronizationType WaitTypeOf(WaitKind kind) {
  switch (kind) {
    case WaitKind::kEvent:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    case WaitKind::kStreamWaitsEvent:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    case WaitKind::kStream:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    case WaitKind::kContext:
      break;
  }
  return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
}

CUpti_ActivityStreamFlag StreamFlagOf(StreamKind kind) {
  switch (kind) {
    case StreamKind::kLegacy:
      return CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
    case StreamKind::kNonBlocking:
      return CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
    case StreamKind::kBlocking:
      break;
  }
  return CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
}

}  // namespace

CUpti_ActivityAPI ApiRecord(const ApiCall& call, uint64_t end_stamp_ns, uint32_t thread_id) {
  static const auto process_id = static_cast<uint32_t>(getpid());
  auto record = Blank<CUpti_ActivityAPI>(call.domain == ApiDomain::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                                            : CUPTI_ACTIVITY_KIND_DRIVER);
  record.cbid = call.cbid;
  record.start = call.begin_ns;
  record.end = end_stamp_ns;
  record.processId = process_id;
  record.threadId = thread_id;
  record.correlationId = call.correlation_id;
  record.returnValue = call.result;
  return record;
}

CUpti_ActivityExternalCorrelation ExternalCorrelationRecord(CUpti_ExternalCorrelationKind kind, uint64_t id,
                                                            uint32_t correlation_id) {
  auto record = Blank<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  record.externalKind = kind;
  record.externalId = id;
  record.correlationId = correlation_id;
  return record;
}

CUpti_ActivityKernel10 KernelRecord(const Operation& operation, const KernelWork& kernel, CUpti_ActivityKind kind,
                                    bool latency_timestamps) {
  auto record = Blank<CUpti_ActivityKernel10>(kind);
  Place(operation, &record);
  record.registersPerThread = 32;
  record.gridX = static_cast<int32_t>(kernel.grid.x);
  record.gridY = static_cast<int32_t>(kernel.grid.y);
  record.gridZ = static_cast<int32_t>(kernel.grid.z);
  record.blockX = static_cast<int32_t>(kernel.block.x);
  record.blockY = static_cast<int32_t>(kernel.block.y);
  record.blockZ = static_cast<int32_t>(kernel.block.z);
  record.dynamicSharedMemory = static_cast<int32_t>(kernel.shared_bytes);
  record.gridId = operation.correlation_id;
  record.name = kernel.kernel->name.c_str();
  if (latency_timestamps) record.queued = record.submitted = StampOf(operation.queued_ns);
  return record;
}

CUpti_ActivityMemcpy6 CopyRecord(const Operation& operation, const CopyWork& copy) {
  auto record = Blank<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  Place(operation, &record);
  record.copyKind = CopyKindOf(copy);
  record.srcKind = MemoryKindOf(copy.source_kind);
  record.dstKind = MemoryKindOf(copy.destination_kind);
  record.flags = copy.asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = copy.Bytes();
  record.copyCount = 1;
  return record;
}

bool BetweenDevices(const CopyWork& copy) { return copy.PeerToPeer(); }

CUpti_ActivityMemcpyPtoP4 PeerCopyRecord(const Operation& operation, const CopyWork& copy) {
  auto record = Blank<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  Place(operation, &record);
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.srcKind = MemoryKindOf(copy.source_kind);
  record.dstKind = MemoryKindOf(copy.destination_kind);
  record.flags = copy.asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = copy.Bytes();
  record.srcDeviceId = static_cast<uint32_t>(copy.source_device);
  record.srcContextId = record.srcDeviceId + 1;
  record.dstDeviceId = static_cast<uint32_t>(copy.destination_device);
  record.dstContextId = record.dstDeviceId + 1;
  return record;
}

CUpti_ActivityMemset4 FillRecord(const Operation& operation, const FillWork& fill) {
  auto record = Blank<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  Place(operation, &record);
  record.value = fill.value;
  record.bytes = fill.Bytes();
  record.memoryKind = MemoryKindOf(fill.kind);
  return record;
}

CUpti_ActivityGraphTrace2 GraphRecord(const GraphOperation& operation) {
  auto record = Blank<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  const Device& device = *operation.stream->device();
  record.correlationId = operation.correlation_id;
  record.deviceId = record.endDeviceId = static_cast<uint32_t>(device.ordinal());
  record.contextId = record.endContextId = device.context_id();
  record.streamId = operation.stream->id();
  record.graphId = operation.exec->id;
  return record;
}

CUpti_ActivitySynchronization2 WaitRecord(const Wait& wait) {
  auto record = Blank<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  record.type = WaitTypeOf(wait.kind);
  record.start = StampOf(wait.begin_ns);
  record.end = StampOf(wait.end_ns);
  record.correlationId = wait.correlation_id;
  record.contextId = wait.context_id;
  record.streamId = wait.stream_id;
  record.cudaEventId = wait.event_id;
  return record;
}

CUpti_ActivityOverhead3 OverheadRecord(CUpti_ActivityOverheadKind kind, uint64_t begin_stamp_ns, uint64_t end_stamp_ns,
                                       uint32_t thread_id, uint32_t correlation_id) {
  auto record = Blank<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  record.overheadKind = kind;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.objectId.pt.threadId = thread_id;
  record.start = begin_stamp_ns;
  record.end = end_stamp_ns;
  record.correlationId = correlation_id;
  return record;
}

CUpti_ActivityDevice5 DeviceRecord(const Device& device) {
  const cudaDeviceProp p = DeviceProperties(device.config(), device.ordinal());
  auto record = Blank<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  record.globalMemorySize = p.totalGlobalMem;
  record.globalMemoryBandwidth = static_cast<uint64_t>(device.config().device_gb_per_s * 1e6);  // kB/s
  record.constantMemorySize = static_cast<uint32_t>(p.totalConstMem);
  record.l2CacheSize = static_cast<uint32_t>(p.l2CacheSize);
  record.numThreadsPerWarp = static_cast<uint32_t>(p.warpSize);
  record.coreClockRate = 1'980'000;
  record.numMemcpyEngines = static_cast<uint32_t>(p.asyncEngineCount);
  record.numMultiprocessors = static_cast<uint32_t>(p.multiProcessorCount);
  record.maxWarpsPerMultiprocessor = static_cast<uint32_t>(p.maxThreadsPerMultiProcessor / p.warpSize);
  record.maxBlocksPerMultiprocessor = static_cast<uint32_t>(p.maxBlocksPerMultiProcessor);
  record.maxSharedMemoryPerMultiprocessor = static_cast<uint32_t>(p.sharedMemPerMultiprocessor);
  record.maxRegistersPerMultiprocessor = record.maxRegistersPerBlock = static_cast<uint32_t>(p.regsPerBlock);
  record.maxSharedMemoryPerBlock = static_cast<uint32_t>(p.sharedMemPerBlock);
  record.maxThreadsPerBlock = static_cast<uint32_t>(p.maxThreadsPerBlock);
  record.computeCapabilityMajor = static_cast<uint32_t>(p.major);
  record.computeCapabilityMinor = static_cast<uint32_t>(p.minor);
  record.id = static_cast<uint32_t>(device.ordinal());
  record.eccEnabled = 1;
  record.isCudaVisible = 1;
  std::memcpy(&record.uuid, &p.uuid, sizeof record.uuid);
  record.name = kDeviceName;
  if (device.config().mig != 0) {
    record.isMigEnabled = 1;
    record.gpuInstanceId = 3;
    record.computeInstanceId = 0;
    record.migUuid = record.uuid;
    record.migUuid.bytes[15] = static_cast<char>(record.uuid.bytes[15] ^ 0x55);
    record.name = kMigDeviceName;
  }
  return record;
}

CUpti_ActivityContext3 ContextRecord(const GreenContext& context) {
  auto record = Blank<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  record.contextId = context.id;
  record.deviceId = context.device;
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = 7;
  record.parentContextId = Simulator::Get().device(static_cast<int>(context.device))->context_id();
  record.isGreenContext = 1;
  record.numMultiprocessors = static_cast<uint16_t>(context.multiprocessors);
  return record;
}

CUpti_ActivityContext3 ContextRecord(const Device& device) {
  auto record = Blank<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  record.contextId = device.context_id();
  record.deviceId = static_cast<uint32_t>(device.ordinal());
  record.computeApiKind =
      device.config().mps != 0 ? CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS : CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = 7;
  record.parentContextId = CUPTI_INVALID_CONTEXT_ID;
  record.numMultiprocessors = static_cast<uint16_t>(device.config().sm_count);
  return record;
}

CUpti_ActivityStream StreamRecord(const StreamInfo& stream, uint32_t context_id, uint32_t correlation_id) {
  auto record = Blank<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  record.contextId = context_id;
  record.streamId = stream.id;
  record.priority = static_cast<uint32_t>(stream.priority);
  record.flag = StreamFlagOf(stream.kind);
  record.correlationId = correlation_id;
  return record;
}

CUpti_ActivityStream StreamRecord(const Stream& stream, uint32_t correlation_id) {
  return StreamRecord({stream.id(), stream.kind(), stream.priority()}, stream.device()->context_id(), correlation_id);
}

}  // namespace simgpu::cupti
