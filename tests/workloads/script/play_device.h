// The device side of a script that is played: its streams, events, kernels, graphs and buffers, made before the script's
// begin, and the CUDA calls on them. A CUDA error ends the program with a line that names the script's line.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_DEVICE_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_DEVICE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "tests/workloads/script/play_clock.h"
#include "tests/workloads/script/script.h"

namespace workloads::script {

// What one thread copies from and to, and what it allocated. One thread.
class Buffers {
 public:
  // Room for any of the work on this device.
  void Reserve(uint32_t device, const DeviceWork& work);
  void Allocate();
  char* Device(uint32_t device, int which) const { return sides_.at(device).device[which]; }  // which: 0 or 1
  char* Pinned() const { return pinned_; }
  char* Pageable() { return pageable_.data(); }

  std::deque<void*> allocated[kMemoryKinds];

 private:
  struct Side {
    uint64_t bytes = 0;
    char* device[2] = {};
  };
  std::map<uint32_t, Side> sides_;
  uint64_t host_bytes_ = 0;
  char* pinned_ = nullptr;
  std::vector<char> pageable_;
};

class PlayDevice {
 public:
  // `script` and `clock` are borrowed.
  PlayDevice(const Script& script, const PlayClock& clock);

  // Makes everything that the script's threads will use.
  void SetUp();
  Buffers MakeBuffers(const Thread& thread) const;

  // Each on the calling thread, with its buffers. Makes the stream's device the current one.
  void Submit(const Statement& statement, Buffers* buffers) const;
  void LaunchGraph(const Statement& statement) const;
  // Records, waits and queries. True for a query: it is done.
  bool Synchronize(const Statement& statement) const;
  void Allocate(const Statement& statement, Buffers* buffers) const;
  void Free(const Statement& statement, Buffers* buffers) const;

  void WaitForEverything() const;  // on all devices

  // For messages, and for the program's output.
  void Check(cudaError_t error, Place place) const;

 private:
  cudaStream_t Use(int stream) const;  // its device becomes the current one
  void Launch(const DeviceWork& work, cudaStream_t stream, uint32_t device, Buffers* buffers, Place place) const;
  cudaGraphExec_t Capture(const Graph& graph, uint32_t device);

  const Script& script_;
  const PlayClock& clock_;
  const char* stubs_ = nullptr;  // one address a kernel name; behind them the kernel of `whole`
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  std::map<std::pair<int, uint32_t>, cudaGraphExec_t> graphs_;  // by graph and device
  Buffers graph_buffers_;
};

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_DEVICE_H_
