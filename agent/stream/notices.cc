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
  DevicePart part;
  uint8_t uuid[16];
  char name[96];
};

struct NameNotice {
  uint32_t kind;
  uint64_t value;
  char name[100];
};

constexpr uint32_t kMaxStates = 64, kMaxCallNames = 2048, kMaxDevices = 32, kMaxContexts = 256, kMaxNames = 1024;
struct Tables {
  StateNotice states[kMaxStates];
  CallName call_names[kMaxCallNames];
  DeviceNotice devices[kMaxDevices];
  ReportedContext contexts[kMaxContexts];
  NameNotice names[kMaxNames];
};

constinit std::atomic<uint32_t> g_lock{0};
constinit Tables* g_tables = nullptr;  // made at the first notice
constinit uint32_t g_states = 0, g_call_names = 0, g_devices = 0;
constinit uint32_t g_contexts = 0, g_names = 0;
constinit uint32_t g_sent_call_names = 0, g_sent_devices = 0, g_sent_contexts = 0, g_sent_names = 0;

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

// The place of what is known already, which then goes out again, or a new one; `capacity` when there is no room.
template <typename IsIt>
uint32_t FindOrAdd(uint32_t* count, uint32_t* sent, uint32_t capacity, const IsIt& is_it) noexcept {
  for (uint32_t i = 0; i < *count; ++i) {
    if (!is_it(i)) continue;
    if (*sent > i) *sent = i;
    return i;
  }
  return *count == capacity ? capacity : (*count)++;
}

// Field numbers of stallscope.v1.Intern.
enum InternField : uint32_t { kInternCallNames = 3, kInternDevices = 7, kInternContexts = 9, kInternNames = 10 };

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

void ReportDevice(uint32_t id, const char* name, const uint8_t* uuid, uint32_t multiprocessors, bool simulated,
                  const DevicePart& part) noexcept {
  Locked lock;
  if (g_tables == nullptr) return;
  // A library tells of its devices again whenever it is subscribed to.
  const uint32_t at = FindOrAdd(&g_devices, &g_sent_devices, kMaxDevices,
                                [id](uint32_t i) noexcept { return g_tables->devices[i].id == id; });
  if (at == kMaxDevices) return;
  DeviceNotice* device = &g_tables->devices[at];
  *device = {id, multiprocessors, simulated, uuid != nullptr, part, {}, {}};
  if (uuid != nullptr) memcpy(device->uuid, uuid, sizeof(device->uuid));
  CopyText(device->name, sizeof(device->name), name);
}

void ReportContext(const ReportedContext& context) noexcept {
  Locked lock;
  if (g_tables == nullptr) return;
  const uint32_t at = FindOrAdd(&g_contexts, &g_sent_contexts, kMaxContexts,
                                [&context](uint32_t i) noexcept { return g_tables->contexts[i].id == context.id; });
  if (at != kMaxContexts) g_tables->contexts[at] = context;
}

void ReportName(uint32_t kind, uint64_t value, const char* name) noexcept {
  Locked lock;
  if (g_tables == nullptr) return;
  const uint32_t at = FindOrAdd(&g_names, &g_sent_names, kMaxNames, [kind, value](uint32_t i) noexcept {
    return g_tables->names[i].kind == kind && g_tables->names[i].value == value;
  });
  if (at == kMaxNames) return Count(wire::Counter::kStringsExhausted);
  g_tables->names[at].kind = kind;
  g_tables->names[at].value = value;
  CopyText(g_tables->names[at].name, sizeof(g_tables->names[at].name), name);
}

bool WriteNotices(ProtoWriter* out) noexcept {
  Locked lock;
  if (g_tables == nullptr) return true;
  const uint64_t start = out->bytes();
  if (g_sent_call_names < g_call_names || g_sent_devices < g_devices || g_sent_contexts < g_contexts ||
      g_sent_names < g_names) {
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
      out->Uint(6, entry.part.mig ? 1 : 0);
      out->Uint(7, entry.part.gpu_instance);
      out->Uint(8, entry.part.compute_instance);
      out->EndMessage(device);
    }
    for (uint32_t i = g_sent_contexts; i < g_contexts; ++i) {
      const ReportedContext& entry = g_tables->contexts[i];
      const uint64_t context = out->BeginMessage(kInternContexts);
      out->Uint(1, entry.id);
      out->Uint(2, entry.device);
      out->Uint(3, entry.mps ? 1 : 0);
      out->Uint(4, entry.green ? 1 : 0);
      out->Uint(5, entry.multiprocessors);
      out->Uint(6, entry.parent);
      out->EndMessage(context);
    }
    for (uint32_t i = g_sent_names; i < g_names; ++i) {
      const NameNotice& entry = g_tables->names[i];
      const uint64_t name = out->BeginMessage(kInternNames);
      out->Uint(1, entry.kind);
      out->Fixed64(2, entry.value);
      out->Text(3, entry.name);
      out->EndMessage(name);
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
  g_sent_contexts = g_contexts;
  g_sent_names = g_names;
  g_states = 0;
  return true;
}

void RepeatNotices() noexcept {
  Locked lock;
  g_sent_call_names = 0;
  g_sent_devices = 0;
  g_sent_contexts = 0;
  g_sent_names = 0;
}

void ForgetNotices() noexcept {
  g_lock.store(0, std::memory_order_release);  // its holder stayed in the parent
  g_states = g_call_names = g_devices = g_sent_call_names = g_sent_devices = 0;
  g_contexts = g_names = g_sent_contexts = g_sent_names = 0;
}

}  // namespace stallscope::agent
