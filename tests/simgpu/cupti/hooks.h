// The simulated CUPTI's ears in the core: turns API calls and operations into callbacks and records.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_HOOKS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_HOOKS_H_

#include <cupti.h>

#include <cstdint>

#include "tests/simgpu/core/timeline.h"

namespace simgpu::cupti {

void ConnectHooks(bool wanted);

// Records of what exists already, for EnableAndDump.
void DumpDevices();
void DumpContexts();
void DumpStreams();

// Thread-local stacks of external correlation ids.
CUptiResult PushExternalId(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult PopExternalId(CUpti_ExternalCorrelationKind kind, uint64_t* id);

// The calling thread's id in records.
uint32_t ThreadId();
// An OVERHEAD record on the calling thread, in stamps; nothing while the kind is off.
void WriteOverhead(CUpti_ActivityOverheadKind kind, uint64_t begin_stamp_ns, uint64_t end_stamp_ns);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_HOOKS_H_
