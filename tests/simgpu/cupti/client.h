// Who listens: the process's own client (functions without a subscriber) and, in libraries that have the per-subscriber
// functions, one client for each subscriber. Clients are never freed, since calls in flight may still report to them.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_CLIENT_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_CLIENT_H_

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/switches.h"
#include "tests/simgpu/cupti/unfinished.h"

namespace simgpu::cupti {

class Client {
 public:
  bool KindOn(uint32_t kind) const { return switches.KindOn(kind); }
  void Write(uint32_t kind, const void* newest) { buffers.Write(kind, newest); }
  template <typename Record>
  void Write(const Record& record) {
    buffers.Write(static_cast<uint32_t>(record.kind), &record);
  }
  // Calls the subscriber if it asked for this function.
  void Call(uint32_t domain, uint32_t cbid, const void* data);

  Switches switches;
  ActivityBuffers buffers;
  UnfinishedRecords unfinished{&buffers};

  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  std::atomic<void*> user_data{nullptr};
  bool shares = false;  // subscribed with allowMultipleSubscribers

  std::mutex attributes_mutex;  // guards the attributes as they were set
  std::map<uint32_t, std::vector<uint8_t>> attributes;
};

class Clients {
 public:
  static Clients& Get() {
    static Clients* const clients = Make();
    return *clients;
  }

  Client& process() { return *process_; }
  // Null: not a live subscriber.
  Client* Of(CUpti_SubscriberHandle handle);

  // False once somebody subscribed with allowMultipleSubscribers: the two families do not mix in a process.
  bool UseProcessScope();

  CUptiResult Subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc function, void* data, const char* name,
                        bool share);
  CUptiResult Unsubscribe(CUpti_SubscriberHandle handle);
  // Of the first subscriber: what a refused one hears. Empty: it gave none, or there is none.
  std::string FirstSubscriberName();

  template <typename Function>
  void Each(Function function) {
    for (int i = 0; i < slots_used_.load(std::memory_order_acquire); ++i) {
      if (Client* client = live_[i].load(std::memory_order_acquire)) function(*client);
    }
  }
  // What any client has on: the kinds as bits, and whether a domain has callbacks or records.
  bool AnyKindOn(uint32_t kind) const { return (kinds_on_.load(std::memory_order_relaxed) >> kind & 1) != 0; }
  bool AnyKindOf(uint64_t kinds) const { return (kinds_on_.load(std::memory_order_relaxed) & kinds) != 0; }
  bool DomainOn(uint32_t domain) const { return (domains_on_.load(std::memory_order_relaxed) >> domain & 1) != 0; }
  // After each change of a client's switches: hooks the core in while anything is on, and out when nothing is.
  void Connect();

  std::atomic<bool> system_thread_ids{false};

 private:
  static constexpr int kMaxClients = 8;

  Clients();
  static Clients* Make();

  Client* const process_;
  std::atomic<Client*> live_[kMaxClients] = {};  // the process's first
  std::atomic<int> slots_used_{1};
  std::atomic<uint64_t> kinds_on_{0};
  std::atomic<uint32_t> domains_on_{0};
  std::atomic<bool> process_scope_used_{false};
  std::mutex mutex_;  // guards what follows
  std::map<Client*, std::string> names_;
  std::vector<Client*> subscribers_;  // in the order in which they came
};

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_CLIENT_H_
