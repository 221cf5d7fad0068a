// Device memory and events that several processes share (cudaIpc*).
//
// A shared allocation becomes a file in memory (memfd), mapped over the place where it lies; another process of the same
// user opens it through /proc. An event's mark lies in such a file as well; the clock is the machine's, so it means the
// same in all of them. Any thread.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_IPC_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_IPC_H_

#include <atomic>
#include <cstdint>

namespace simgpu {

// What the 64 bytes of a cudaIpcMemHandle_t and a cudaIpcEventHandle_t hold.
struct IpcHandle {
  uint64_t magic;
  int32_t process_id;
  int32_t file;     // descriptor there
  uint64_t bytes;   // of the whole allocation
  uint64_t timing;  // of events: whether they have one
};

// Shares the allocation that begins at `pointer`; false when there is none, or when it is less than a page.
bool ShareMemory(void* pointer, IpcHandle* handle);
// Maps what another process shares into the device range; null when it is gone.
void* OpenSharedMemory(const IpcHandle& handle);
bool CloseSharedMemory(void* pointer);
// The allocation is about to be freed: its place becomes private memory again.
void EndSharing(void* pointer);

// A place for an event's mark that other processes see; null when there is none.
std::atomic<uint64_t>* ShareMark(IpcHandle* handle);
std::atomic<uint64_t>* OpenSharedMark(const IpcHandle& handle);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_IPC_H_
