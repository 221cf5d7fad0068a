#include "agent/cuda/fake_agent.h"

#include <algorithm>
#include <memory>

#include "agent/entry/lifecycle.h"
#include "agent/entry/loader_use.h"
#include "agent/hot/process_state.h"

namespace stallscope::agent {
namespace {

std::unique_ptr<FakeAgent>& Instance() {
  static auto instance = std::make_unique<FakeAgent>();
  return instance;
}
wire::Header g_fake_header;

}  // namespace

constinit thread_local ThreadLocal t_local = {};
std::atomic<uint64_t> g_ticks_per_ns_q20{uint64_t{1} << 20};

FakeAgent& Fake() { return *Instance(); }
void ResetFake() { Instance() = std::make_unique<FakeAgent>(); }

uint64_t Ticks() noexcept { return Fake().ticks += Fake().ticks_per_reading; }
uint64_t MonotonicNs() noexcept { return Ticks(); }
bool Recording() noexcept { return Fake().recording; }
uint64_t WaitThresholdTicks() noexcept { return Fake().wait_threshold_ticks; }
void Commit(const RecordFields& fields) noexcept { Fake().records.push_back(fields); }
uint32_t StackHere(uint64_t, uint64_t) noexcept { return 0; }
void CountShortWait() noexcept {}
SavedWait BeginWait(wire::RecordKind kind, uint16_t call, uint64_t object, uint64_t begin_ticks) noexcept {
  const SavedWait saved = Fake().current_wait;
  Fake().current_wait = {static_cast<uint16_t>(kind), static_cast<uint16_t>(call + 1), object, begin_ticks};
  return saved;
}
void EndWait(const SavedWait& saved) noexcept { Fake().current_wait = saved; }
void AddWaiter(uint64_t) noexcept {}
void RemoveWaiter(uint64_t) noexcept {}
bool SomebodyWaits(uint64_t) noexcept { return false; }
bool UseBigRing(uint32_t) noexcept { return true; }
uint32_t InternString(const char* text, uint32_t length) noexcept {
  std::vector<std::string>& strings = Fake().strings;
  const std::string wanted(text, length);
  const auto found = std::find(strings.begin(), strings.end(), wanted);
  if (found != strings.end()) return static_cast<uint32_t>(found - strings.begin()) + 1;
  strings.push_back(wanted);
  return static_cast<uint32_t>(strings.size());
}
uint32_t InternShape(const uint32_t grid_block[6]) noexcept {
  return InternString(reinterpret_cast<const char*>(grid_block), 6 * sizeof(uint32_t));
}
void Count(wire::Counter counter, uint64_t by) noexcept { Fake().counters[static_cast<size_t>(counter)] += by; }
InsideAgent::InsideAgent() noexcept = default;
InsideAgent::~InsideAgent() noexcept {}
wire::Header* SharedHeader() noexcept { return &g_fake_header; }

void EnsureSetUp() noexcept {}
void EnsureStreaming() noexcept {}
void ReportState(uint32_t what, uint64_t, const char*) noexcept { Fake().states.push_back(what); }
void ReportCallName(uint8_t domain, uint16_t call, const char* name) noexcept {
  Fake().call_names[static_cast<uint32_t>(domain) << 16 | call] = name;
}
void ReportDevice(uint32_t id, const char* name, const uint8_t*, uint32_t multiprocessors, bool simulated,
                  const DevicePart& part) noexcept {
  Fake().devices.push_back({id, name == nullptr ? "" : name, multiprocessors, simulated, part.mig, part.gpu_instance,
                            part.compute_instance});
}
void ReportName(uint32_t kind, uint64_t value, const char* name) noexcept { Fake().names[{kind, value}] = name; }
void ReportContext(const ReportedContext& context) noexcept { Fake().contexts.push_back(context); }
void AddStreamingRound(StreamingRound) noexcept {}
void AddLevelChanged(LevelChanged) noexcept {}
bool IsForkedChild() noexcept { return false; }
void* ResolveNext(const char* name, const char*, const char*) noexcept {
  const auto found = Fake().symbols.find(name);
  return found == Fake().symbols.end() ? nullptr : found->second;
}
bool ModuleLoaded(const char*) noexcept { return false; }
LoaderUse::LoaderUse() noexcept = default;
LoaderUse::~LoaderUse() = default;

}  // namespace stallscope::agent
