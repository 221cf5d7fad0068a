// What one client has switched on: activity kinds, API records by function, callbacks by function.
// Set by the exported functions, read by the hooks on the program's threads with relaxed loads.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_SWITCHES_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_SWITCHES_H_

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace simgpu::cupti {

inline constexpr uint32_t kMaxFunctions = 1024;  // callback ids of a domain are below this
inline constexpr uint32_t kDomains = CUPTI_CB_DOMAIN_SIZE;

class Switches {
 public:
  bool KindOn(uint32_t kind) const { return kind < 64 && (kinds_.load(std::memory_order_relaxed) >> kind & 1) != 0; }
  void SetKind(uint32_t kind, bool on);

  bool ApiRecordOn(uint32_t domain, uint32_t cbid) const { return Flag(api_records_, domain, cbid); }
  void SetApiRecord(uint32_t domain, uint32_t cbid, bool on);

  bool CallbackOn(uint32_t domain, uint32_t cbid) const { return Flag(callbacks_, domain, cbid); }
  void SetCallback(uint32_t domain, uint32_t cbid, bool on);
  void SetDomain(uint32_t domain, bool on);

  uint64_t kinds() const { return kinds_.load(std::memory_order_relaxed); }
  // Functions of a domain that have callbacks or records on.
  uint32_t Functions(uint32_t domain) const {
    return api_records_.count[domain].load() + callbacks_.count[domain].load();
  }

  std::atomic<bool> latency_timestamps{false};

 private:
  struct Flags {
    std::atomic<uint8_t> on[kDomains][kMaxFunctions] = {};
    std::atomic<uint32_t> count[kDomains] = {};  // on, by domain
  };

  static bool Flag(const Flags& flags, uint32_t domain, uint32_t cbid) {
    return domain < kDomains && cbid < kMaxFunctions && flags.on[domain][cbid].load(std::memory_order_relaxed) != 0;
  }
  static void Set(Flags* flags, uint32_t domain, uint32_t cbid, bool on);

  std::atomic<uint64_t> kinds_{0};
  Flags api_records_;
  Flags callbacks_;
};

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_SWITCHES_H_
