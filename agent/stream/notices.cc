#include "agent/stream/notices.h"

#include <string.h>

#include <atomic>

#include "agent/entry/lifecycle.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"
#include "agent/stream/arena.h"
#include "agent/stream/hello.h"

namespace stallscope::agent {
namespace {

struct StateNotice {
  uint32_t what;
  uint64_t value, monotonic_ns;
  char text[160];
};
struct CallName {
  uint8_t domain;
  uint16_t call;
  char name[92];
};
struct DeviceNotice {
  uint32_t id, multiprocessors;
  bool simulated, has_uuid;
  uint8_t uuid[16];
  char name[96];
};

constexpr uint32_t kMaxStates = 64, kMaxCallNames = 2048, kMaxDevices = 32;
struct Tables {
  StateNotice states[kMaxStates];
  CallName call_names[kMaxCallNames];
  DeviceNotice devices[kMaxDevices];
};

constinit std::atomic<uint32_t> g_lock{0};
constinit Tables* g_tables = nullptr;  // made at the first notice
constinit uint32_t g_states = 0, g_call_names = 0, g_devices = 0;
constinit uint32_t g_sent_call_names = 0, g_sent_devices = 0;

class Locked {
 public:
  Locked() noexcept {
    uint32_t unlocked = 0;
    while (!g_lock.compare_exchange_weak(unlocked, 1, std::memory_order_acquire)) {
      unlocked = 0;
      RawSyscall(SYS_sched_yield);
    }
    if (g_tables == nullptr) g_tables = MapArray<Tables>(1);
  }
  ~Locked() noexcept { g_lock.store(0, std::memory_order_release); }
};

void CopyText(char* to, uint32_t capacity, const char* from) noexcept {
  uint32_t i = 0;
  for (; from != nullptr && i + 1 < capacity && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

// Field numbers of stallscope.v1.Intern.
enum InternField : uint32_t { kInternCallNames = 3, kInternDevices = 7 };

}  // namespace

void ReportState(uint32_t what, uint64_t value, const char* text) noexcept {
  Locked lock;
  if (g_tables == nullptr || g_states == kMaxStates) return Count(wire::Counter::kInternal);
  StateNotice* state = &g_tables->states[g_states++];
  *state = {what, value, MonotonicNs(), {}};
  CopyText(state->text, sizeof(state->text), text);
}

void ReportCallName(uint8_t domain, uint16_t call, const char* name) noexcept {
  Locked lock;
  if (g_tables == nullptr) return;
  for (uint32_t i = 0; i < g_call_names; ++i) {
    if (g_tables->call_names[i].domain == domain && g_tables->call_names[i].call == call) return;
  }
  if (g_call_names == kMaxCallNames) return Count(wire::Counter::kStringsExhausted);
  CallName* entry = &g_tables->call_names[g_call_names++];
  entry->domain = domain;
  entry->call = call;
  CopyText(entry->name, sizeof(entry->name), name);
}

void ReportDevice(uint32_t id, const char* name, const uint8_t* uuid, uint32_t multiprocessors,
                  bool simulated) noexcept {
  Locked lock;
  if (g_tables == nullptr || g_devices == kMaxDevices) return;
  DeviceNotice* device = &g_tables->devices[g_devices++];
  *device = {id, multiprocessors, simulated, uuid != nullptr, {}, {}};
  if (uuid != nullptr) memcpy(device->uuid, uuid, sizeof(device->uuid));
  CopyText(device->name, sizeof(device->name), name);
}

bool WriteNotices(ProtoWriter* out) noexcept {
  Locked lock;
  if (g_tables == nullptr) return true;
  const uint64_t start = out->bytes();
  if (g_sent_call_names < g_call_names || g_sent_devices < g_devices) {
    const uint64_t frame = out->BeginFrame();
    const uint64_t intern = out->BeginMessage(kFrameIntern);
    for (uint32_t i = g_sent_call_names; i < g_call_names; ++i) {
      const CallName& entry = g_tables->call_names[i];
      const uint64_t name = out->BeginMessage(kInternCallNames);
      out->Uint(1, entry.domain);
      out->Uint(2, entry.call);
      out->Text(3, entry.name);
      out->EndMessage(name);
    }
    for (uint32_t i = g_sent_devices; i < g_devices; ++i) {
      const DeviceNotice& entry = g_tables->devices[i];
      const uint64_t device = out->BeginMessage(kInternDevices);
      out->Uint(1, entry.id);
      out->Text(2, entry.name);
      if (entry.has_uuid) out->Bytes(3, entry.uuid, sizeof(entry.uuid));
      out->Uint(4, entry.multiprocessors);
      out->Uint(5, entry.simulated ? 1 : 0);
      out->EndMessage(device);
    }
    out->EndMessage(intern);
    if (!out->EndFrame(frame)) return false;
  }
  for (uint32_t i = 0; i < g_states; ++i) {
    const StateNotice& entry = g_tables->states[i];
    const uint64_t frame = out->BeginFrame();
    const uint64_t state = out->BeginMessage(kFrameState);
    out->Uint(1, entry.what);
    out->Uint(2, entry.monotonic_ns);
    out->Uint(3, entry.value);
    out->Text(4, entry.text);
    out->EndMessage(state);
    if (!out->EndFrame(frame)) {
      out->CutTo(start);
      return false;
    }
  }
  g_sent_call_names = g_call_names;
  g_sent_devices = g_devices;
  g_states = 0;
  return true;
}

void RepeatNotices() noexcept {
  Locked lock;
  g_sent_call_names = 0;
  g_sent_devices = 0;
}

void ForgetNotices() noexcept {
  g_lock.store(0, std::memory_order_release);  // its holder stayed in the parent
  g_states = g_call_names = g_devices = g_sent_call_names = g_sent_devices = 0;
}

}  // namespace stallscope::agent
