// What the client has switched on: activity kinds, API records by function, callbacks by function, its subscription.
// Set by the exported functions, read by the hooks on the program's threads with relaxed loads.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_SWITCHES_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_SWITCHES_H_

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace simgpu::cupti {

inline constexpr uint32_t kMaxFunctions = 1024;  // callback ids of a domain are below this
inline constexpr uint32_t kDomains = 3;          // indexed by CUpti_CallbackDomain: invalid, driver, runtime

class Switches {
 public:
  static Switches& Get();

  bool KindOn(uint32_t kind) const { return kind < 64 && (kinds_.load(std::memory_order_relaxed) >> kind & 1) != 0; }
  void SetKind(uint32_t kind, bool on);

  bool ApiRecordOn(uint32_t domain, uint32_t cbid) const { return Flag(api_records_, domain, cbid); }
  void SetApiRecord(uint32_t domain, uint32_t cbid, bool on);

  bool CallbackOn(uint32_t domain, uint32_t cbid) const { return Flag(callbacks_, domain, cbid); }
  void SetCallback(uint32_t domain, uint32_t cbid, bool on);
  void SetDomain(uint32_t domain, bool on);

  CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data, const char* name);
  CUptiResult Unsubscribe(CUpti_SubscriberHandle subscriber);
  bool IsSubscriber(CUpti_SubscriberHandle subscriber) const;
  std::string SubscriberName();
  CUpti_CallbackFunc callback() const { return callback_.load(std::memory_order_acquire); }
  void* user_data() const { return user_data_.load(std::memory_order_acquire); }

  std::atomic<bool> system_thread_ids{false};
  std::atomic<bool> latency_timestamps{false};

 private:
  using Flags = std::atomic<uint8_t>[kDomains][kMaxFunctions];

  static bool Flag(const Flags& flags, uint32_t domain, uint32_t cbid) {
    return domain < kDomains && cbid < kMaxFunctions && flags[domain][cbid].load(std::memory_order_relaxed) != 0;
  }
  // Hooks the core in while anything is on, and out when nothing is.
  void Connect();

  std::atomic<uint64_t> kinds_{0};
  Flags api_records_{};
  Flags callbacks_{};
  std::atomic<CUpti_CallbackFunc> callback_{nullptr};
  std::atomic<void*> user_data_{nullptr};
  std::mutex mutex_;  // guards subscription changes and the name
  std::string name_;
};

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_SWITCHES_H_
