// Who else uses CUPTI in this process: torch.profiler (libkineto), JAX, any second subscriber.
//
// CUPTI's process-wide functions know one client: whoever registers buffer functions last gets all records, and
// whoever disables a kind disables it for everybody. The agent therefore exports the functions with which a client
// begins and ends (LD_PRELOAD puts them before libcupti's, for clients that are linked to it as torch is), gives CUPTI
// up before such a call goes on, and takes it back when the other is done. A client that finds CUPTI with dlsym is not
// seen here; takeover_watch.h notices what it did.
//
// Any thread. Written by the exported functions, read by the keeper.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stallscope::agent {

class OtherClients {
 public:
  // The others are using CUPTI now, or ended too short a time ago to be sure.
  bool Busy(uint64_t now_ns) const noexcept;

  // One of them called cuptiFinalize: what CUPTI does after that is not defined, so the agent never comes back.
  bool finalized() const noexcept { return finalized_.load(std::memory_order_relaxed); }
  // One of them subscribed through the per-subscriber interface, and shares.
  bool shares() const noexcept { return shares_.load(std::memory_order_relaxed); }
  // One of them used the process-wide interface.
  bool process_wide() const noexcept { return process_wide_.load(std::memory_order_relaxed); }
  // One of them registered a timestamp callback after ours.
  bool own_clock() const noexcept { return own_clock_.load(std::memory_order_relaxed); }

  void Called(uint64_t now_ns) noexcept { last_call_ns_.store(now_ns, std::memory_order_relaxed); }
  void UsedProcessWide() noexcept { process_wide_.store(true, std::memory_order_relaxed); }
  void Subscribed(bool shared) noexcept;
  void Unsubscribed() noexcept;
  void Enabled(uint32_t kind) noexcept;
  void Disabled(uint32_t kind) noexcept;
  void Finalized() noexcept;
  void RegisteredClock() noexcept { own_clock_.store(true, std::memory_order_relaxed); }

 private:
  static uint64_t Bit(uint32_t kind) noexcept { return uint64_t{1} << (kind < 63 ? kind : 63); }

  std::atomic<uint32_t> subscriptions_{0};  // that nobody else may share
  std::atomic<uint64_t> kinds_{0};          // enabled by them and not disabled since
  std::atomic<uint64_t> last_call_ns_{0};
  std::atomic<bool> finalized_{false}, shares_{false}, own_clock_{false}, process_wide_{false};
};
extern OtherClients g_other_clients;

}  // namespace stallscope::agent
