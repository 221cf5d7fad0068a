#include "agent/cupti/other_clients.h"

namespace stallscope::agent {

constinit OtherClients g_other_clients;

namespace {

// A client makes several calls to begin and to end; between two of them nothing of it may be on.
constexpr uint64_t kQuietNs = 1'000'000'000;

}  // namespace

bool OtherClients::Busy(uint64_t now_ns) const noexcept {
  if (finalized() || subscriptions_.load(std::memory_order_relaxed) != 0) return true;
  if (kinds_.load(std::memory_order_relaxed) != 0) return true;
  const uint64_t last_ns = last_call_ns_.load(std::memory_order_relaxed);
  return last_ns != 0 && now_ns < last_ns + kQuietNs;
}

void OtherClients::Subscribed(bool shared) noexcept {
  if (shared) {
    shares_.store(true, std::memory_order_relaxed);
  } else {
    subscriptions_.fetch_add(1, std::memory_order_relaxed);
  }
}

void OtherClients::Unsubscribed() noexcept {
  uint32_t held = subscriptions_.load(std::memory_order_relaxed);
  while (held != 0 && !subscriptions_.compare_exchange_weak(held, held - 1, std::memory_order_relaxed)) {
  }
}

void OtherClients::Enabled(uint32_t kind) noexcept { kinds_.fetch_or(Bit(kind), std::memory_order_relaxed); }

void OtherClients::Disabled(uint32_t kind) noexcept { kinds_.fetch_and(~Bit(kind), std::memory_order_relaxed); }

void OtherClients::Finalized() noexcept {
  finalized_.store(true, std::memory_order_relaxed);
  subscriptions_.store(0, std::memory_order_relaxed);
  kinds_.store(0, std::memory_order_relaxed);
}

}  // namespace stallscope::agent
