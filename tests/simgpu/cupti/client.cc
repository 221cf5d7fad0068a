#include "tests/simgpu/cupti/client.h"

#include <algorithm>
#include <string_view>

#include "tests/simgpu/core/state_queries.h"
#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/names.h"

namespace simgpu::cupti {
namespace {

// Callback ids of the runtime's state queries, in all versions ("cudaGetDevice_v3020").
const std::vector<uint32_t>& StateQueryIds() {
  static const auto* const ids = [] {
    auto* found = new std::vector<uint32_t>;
    for (uint32_t cbid = 0; cbid < kRuntimeNameCount; ++cbid) {
      if (kRuntimeNames[cbid] == nullptr) continue;
      const std::string_view name = kRuntimeNames[cbid];
      const std::string_view base = name.substr(0, name.rfind("_v"));
      if (std::find(std::begin(kStateQueries), std::end(kStateQueries), base) != std::end(kStateQueries)) {
        found->push_back(cbid);
      }
    }
    return found;
  }();
  return *ids;
}

}  // namespace

void Client::Call(uint32_t domain, uint32_t cbid, const void* data) {
  if (!switches.CallbackOn(domain, cbid)) return;
  const CUpti_CallbackFunc function = callback.load(std::memory_order_acquire);
  if (function == nullptr) return;
  function(user_data.load(std::memory_order_acquire), static_cast<CUpti_CallbackDomain>(domain), cbid, data);
  PayForCallback();
}

Clients* Clients::Make() { return new Clients; }

Clients::Clients() : process_(new Client) { live_[0].store(process_); }

bool Clients::UseProcessScope() {
  bool shared = false;
  Each([&shared](Client& client) { shared = shared || client.shares; });
  if (!shared) process_scope_used_.store(true, std::memory_order_relaxed);
  return !shared;
}

Client* Clients::Of(CUpti_SubscriberHandle handle) {
  std::lock_guard lock(mutex_);
  auto* client = reinterpret_cast<Client*>(handle);
  return std::count(subscribers_.begin(), subscribers_.end(), client) == 0 ? nullptr : client;
}

CUptiResult Clients::Subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc function, void* data,
                               const char* name, bool share) {
  if (handle == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (FaultOn(Fault::kNoDriver)) return CUPTI_ERROR_UNKNOWN;
  if (FaultOn(Fault::kBusy)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  std::lock_guard lock(mutex_);
  for (const Client* other : subscribers_) {
    if (!share || !other->shares) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (share && process_scope_used_.load(std::memory_order_relaxed)) return CUPTI_ERROR_NOT_COMPATIBLE;
  Client* client = process_;
  if (share) {
    const auto slot =
        std::find_if(std::begin(live_), std::end(live_), [](auto& live) { return live.load() == nullptr; });
    if (slot == std::end(live_)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    client = new Client;
    client->shares = true;
    slot->store(client, std::memory_order_release);
    const int used = static_cast<int>(slot - std::begin(live_)) + 1;
    if (used > slots_used_.load()) slots_used_.store(used, std::memory_order_release);
  }
  // A subscriber may have no callback (it only wants to own CUPTI): keep one that does nothing.
  if (function == nullptr) function = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  client->user_data.store(data);
  client->callback.store(function, std::memory_order_release);
  names_[client] = name == nullptr ? "" : name;
  subscribers_.push_back(client);
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(client);
  return CUPTI_SUCCESS;
}

CUptiResult Clients::Unsubscribe(CUpti_SubscriberHandle handle) {
  Client* client = Of(handle);
  if (client == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  client->callback.store(nullptr);
  for (uint32_t domain = 0; domain < kDomains; ++domain) client->switches.SetDomain(domain, false);
  if (client->shares) {
    for (uint32_t kind = 0; kind < 64; ++kind) {
      if (client->KindOn(kind)) client->switches.SetKind(kind, false);
    }
  }
  {
    std::lock_guard lock(mutex_);
    subscribers_.erase(std::find(subscribers_.begin(), subscribers_.end(), client));
    names_.erase(client);
    for (std::atomic<Client*>& slot : live_) {
      if (slot.load() == client && client->shares) slot.store(nullptr);
    }
  }
  Connect();
  return CUPTI_SUCCESS;
}

std::string Clients::FirstSubscriberName() {
  if (FaultOn(Fault::kBusy)) return "nsys";
  std::lock_guard lock(mutex_);
  return subscribers_.empty() ? "" : names_[subscribers_.front()];
}

void Clients::Connect() {
  uint64_t kinds = 0;
  uint32_t domains = 0;
  bool queries = false;
  Each([&kinds, &domains, &queries](Client& client) {
    kinds |= client.switches.kinds();
    for (const uint32_t cbid : StateQueryIds()) {
      queries = queries || client.switches.CallbackOn(CUPTI_CB_DOMAIN_RUNTIME_API, cbid) ||
                client.switches.ApiRecordOn(CUPTI_CB_DOMAIN_RUNTIME_API, cbid);
    }
    for (uint32_t domain = 0; domain < kDomains; ++domain) {
      if (client.switches.Functions(domain) != 0) domains |= 1u << domain;
    }
  });
  kinds_on_.store(kinds, std::memory_order_relaxed);
  domains_on_.store(domains, std::memory_order_relaxed);
  state_queries_are_traced.store(queries, std::memory_order_relaxed);
  ConnectHooks(kinds != 0 || domains != 0);
}

}  // namespace simgpu::cupti
