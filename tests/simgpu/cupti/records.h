// Builds activity records in their newest form (layout.h makes the older ones). Times of device operations are left out: they are
// filled in when the operation has ended (unfinished.h).
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_RECORDS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_RECORDS_H_

#include <cupti.h>

#include "tests/simgpu/core/timeline.h"
#include "tests/simgpu/core/trace.h"

namespace simgpu::cupti {

CUpti_ActivityAPI ApiRecord(const ApiCall& call, uint64_t end_stamp_ns, uint32_t thread_id);
CUpti_ActivityExternalCorrelation ExternalCorrelationRecord(CUpti_ExternalCorrelationKind kind, uint64_t id,
                                                            uint32_t correlation_id);
CUpti_ActivityKernel10 KernelRecord(const Operation& operation, const KernelWork& kernel, CUpti_ActivityKind kind,
                                    bool latency_timestamps);
CUpti_ActivityMemcpy6 CopyRecord(const Operation& operation, const CopyWork& copy);
// From one device's memory to another's: such copies have their own kind.
bool BetweenDevices(const CopyWork& copy);
CUpti_ActivityMemcpyPtoP4 PeerCopyRecord(const Operation& operation, const CopyWork& copy);
CUpti_ActivityMemset4 FillRecord(const Operation& operation, const FillWork& fill);
CUpti_ActivityGraphTrace2 GraphRecord(const GraphOperation& operation);
CUpti_ActivitySynchronization2 WaitRecord(const Wait& wait);
CUpti_ActivityOverhead3 OverheadRecord(CUpti_ActivityOverheadKind kind, uint64_t begin_stamp_ns, uint64_t end_stamp_ns,
                                       uint32_t thread_id, uint32_t correlation_id);
CUpti_ActivityDevice5 DeviceRecord(const Device& device);
CUpti_ActivityContext3 ContextRecord(const Device& device);
CUpti_ActivityContext3 ContextRecord(const GreenContext& context);
CUpti_ActivityStream StreamRecord(const StreamInfo& stream, uint32_t context_id, uint32_t correlation_id);
CUpti_ActivityStream StreamRecord(const Stream& stream, uint32_t correlation_id);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_RECORDS_H_
