// The simulated CUPTI's ears in the core: turns API calls and operations into callbacks and records.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_HOOKS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_HOOKS_H_

#include <cupti.h>

#include <cstdint>

namespace simgpu::cupti {

class Client;

void ConnectHooks(bool wanted);

// Records of what exists already, for EnableAndDump.
void DumpDevices(Client* client);
void DumpContexts(Client* client);
void DumpStreams(Client* client);

// Thread-local stacks of external correlation ids, one a client.
CUptiResult PushExternalId(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult PopExternalId(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t* id);

// The calling thread's id in records.
uint32_t ThreadId();
// OVERHEAD records on the calling thread, in stamps; nothing where the kind is off.
void WriteOverhead(CUpti_ActivityOverheadKind kind, uint64_t begin_stamp_ns, uint64_t end_stamp_ns);
// A client was asked for memory since `begin_stamp_ns`: said by a record when the CUDA call ends.
void NoteBufferRequest(uint64_t begin_stamp_ns);
// Host time of one callback, as configured.
void PayForCallback();

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_HOOKS_H_
