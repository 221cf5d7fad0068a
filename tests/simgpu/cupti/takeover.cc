#include "tests/simgpu/cupti/takeover.h"

#include <cupti.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <unordered_set>

#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {
namespace {

constexpr size_t kIntruderBufferBytes = 4 << 20;

std::atomic<uint64_t> calls{0};
std::atomic<uint64_t> lost_buffers{0};

class Intruder : public BufferLender {
 public:
  void Request(uint8_t** bytes, size_t* capacity_bytes, size_t* max_records) override {
    *bytes = static_cast<uint8_t*>(std::malloc(kIntruderBufferBytes));
    *capacity_bytes = kIntruderBufferBytes;
    *max_records = 0;
    std::lock_guard lock(mutex_);
    lent_.insert(*bytes);
  }
  void Complete(uint8_t* bytes, size_t, size_t) override {
    std::lock_guard lock(mutex_);
    if (lent_.erase(bytes) != 0) {
      std::free(bytes);
    } else {
      lost_buffers.fetch_add(1);  // "bufferCompleted called with unknown buffer": leaked
    }
  }

 private:
  std::mutex mutex_;
  std::unordered_set<uint8_t*> lent_;
};

// A clock in other units of another origin, as a profiler that converts cycle counts registers.
uint64_t CycleClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) * 3;
}

void TakeOver() {
  Client& client = Clients::Get().process();
  client.buffers.SetPerThread(false);
  client.buffers.Register(new Intruder);
  SetTimestampCallback(CycleClock);
}

void SwitchOff() {
  Client& client = Clients::Get().process();
  for (uint32_t kind : {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                        CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                        CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}) {
    client.switches.SetKind(kind, false);
  }
  Clients::Get().Connect();
  client.unfinished.ReleaseAll();
  client.buffers.Flush(true);
}

}  // namespace

void TakeoverAfterCall() {
  const uint64_t after = ActiveFaults().Parameter(Fault::kTakeover);
  const uint64_t call = calls.fetch_add(1) + 1;
  if (call == after) TakeOver();
  if (call == 2 * after) SwitchOff();
}

uint64_t BuffersLostToTakeover() { return lost_buffers.load(); }

}  // namespace simgpu::cupti
