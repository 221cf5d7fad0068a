#include "tests/simgpu/core/current.h"

namespace simgpu {
namespace {

constexpr int kMaxDevices = 64;
constexpr uintptr_t kLegacyHandle = 1, kPerThreadHandle = 2;
constexpr unsigned kScheduleMask = 7, kScheduleYield = 2, kScheduleBlocking = 4;

thread_local int current_ordinal = 0;
thread_local bool null_is_per_thread = false;
std::atomic<unsigned> device_flags[kMaxDevices];

// Leaked with the thread: its work may still count for device-wide waits.
Stream* PerThreadStream() {
  thread_local Stream** streams = nullptr;
  if (streams == nullptr) streams = new Stream* [kMaxDevices] {};
  Stream*& stream = streams[current_ordinal];
  if (stream == nullptr) stream = CurrentDevice()->CreateStream(StreamKind::kBlocking, 0);
  return stream;
}

}  // namespace

int CurrentOrdinal() { return current_ordinal; }
void SetCurrentOrdinal(int ordinal) { current_ordinal = ordinal; }
Device* CurrentDevice() { return Simulator::Get().device(current_ordinal); }

unsigned DeviceFlags(int ordinal) { return device_flags[ordinal].load(std::memory_order_relaxed); }
void SetDeviceFlags(int ordinal, unsigned flags) { device_flags[ordinal].store(flags, std::memory_order_relaxed); }

WaitMode DeviceWaitMode(int ordinal) {
  const unsigned schedule = DeviceFlags(ordinal) & kScheduleMask;
  if (schedule == kScheduleYield) return WaitMode::kYield;
  if (schedule == kScheduleBlocking) return WaitMode::kBlock;
  return WaitMode::kSpin;  // automatic choice spins while there are fewer contexts than cores
}

PerThreadDefaultScope::PerThreadDefaultScope() : outer_(null_is_per_thread) { null_is_per_thread = true; }
PerThreadDefaultScope::~PerThreadDefaultScope() { null_is_per_thread = outer_; }

Stream* StreamOf(const void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == kPerThreadHandle || (number == 0 && null_is_per_thread)) return PerThreadStream();
  if (number == 0 || number == kLegacyHandle) return CurrentDevice()->legacy_stream();
  return static_cast<Stream*>(const_cast<void*>(handle));
}

}  // namespace simgpu
