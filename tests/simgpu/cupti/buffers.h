// Activity buffers between the program's threads, which write records, and the client, which lends the memory.
//
// A buffer is asked for on the thread that needs room, with no lock held. Full buffers go back on the worker thread;
// FlushAll brings back the rest on the caller's. Without memory a record is dropped and counted.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_BUFFERS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_BUFFERS_H_

#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace simgpu::cupti {

class ActivityBuffers {
 public:
  static ActivityBuffers& Get();

  void Register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  bool registered() const { return request_.load(std::memory_order_acquire) != nullptr; }

  void Write(const void* record, size_t bytes);
  // Hands every buffer that holds records back to the client, on this thread. Returns when no delivery is under way.
  void Flush();
  size_t TakeDropped() { return dropped_.exchange(0, std::memory_order_relaxed); }
  // The worker calls `each_period` every `period_ms`, and delivers full buffers; 0: never.
  void SetPeriod(uint32_t period_ms, void (*each_period)());

 private:
  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t capacity_bytes = 0, used_bytes = 0;
    size_t max_records = 0, records = 0;  // max_records 0: as many as fit

    bool Fits(size_t record_bytes) const {
      return bytes != nullptr && used_bytes + record_bytes <= capacity_bytes &&
             (max_records == 0 || records < max_records);
    }
  };

  void Worker();
  void Deliver(bool partly_filled);

  std::atomic<CUpti_BuffersCallbackRequestFunc> request_{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_{nullptr};
  std::atomic<size_t> dropped_{0};
  std::mutex delivery_mutex_;  // one delivery at a time; taken before mutex_
  std::mutex mutex_;           // guards what follows
  std::condition_variable work_;
  Buffer current_;
  std::vector<Buffer> spare_;  // lent by the client to threads that lost the race for `current_`
  std::vector<Buffer> full_;
  bool worker_started_ = false;
  uint32_t period_ms_ = 0;
  void (*each_period_)() = nullptr;
};

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_BUFFERS_H_
