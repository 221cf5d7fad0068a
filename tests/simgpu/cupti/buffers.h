// Activity buffers between the program's threads, which write records, and one client, which lends the memory.
//
// A buffer is asked for on the thread that needs room, with no lock held. Full buffers go back on the worker thread;
// Flush brings back the rest on the caller's. Without memory a record is dropped and counted. Threads share one buffer,
// or have one each (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER).
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_BUFFERS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_BUFFERS_H_

#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace simgpu::cupti {

// How a client lends and gets back memory; the same for both families of functions.
class BufferLender {
 public:
  virtual ~BufferLender() = default;
  virtual void Request(uint8_t** bytes, size_t* capacity_bytes, size_t* max_records) = 0;
  virtual void Complete(uint8_t* bytes, size_t capacity_bytes, size_t used_bytes) = 0;
};

class ActivityBuffers {
 public:
  ActivityBuffers();

  // The last one wins, also for buffers that an earlier one lent. `lender` lives as long as the process.
  void Register(BufferLender* lender);
  bool registered() const { return lender_.load(std::memory_order_acquire) != nullptr; }
  void SetPerThread(bool per_thread) { per_thread_.store(per_thread, std::memory_order_relaxed); }
  bool per_thread() const { return per_thread_.load(std::memory_order_relaxed); }

  // A record in its newest form; it is written as the active layout has it. Counts towards the cost of the call.
  void Write(uint32_t kind, const void* newest);
  // The same for many: `each(i)` gives the i-th record, which begins with its kind.
  template <typename Each>
  void WriteMany(size_t records, Each each) {
    BufferLender* lender = lender_.load(std::memory_order_acquire);
    if (lender == nullptr || records == 0) return;
    Lane& lane = per_thread() ? *ThreadLane() : shared_lane_;
    std::unique_lock lock(lane.mutex);
    for (size_t i = 0; i < records; ++i) {
      const void* record = each(i);
      uint32_t kind;
      std::memcpy(&kind, record, sizeof kind);
      WriteTo(&lane, lender, &lock, kind, record);
    }
  }
  // Hands every buffer that holds records back to the client, on this thread. Returns when no delivery is under way.
  // `forced`: also those that a fault keeps for later.
  void Flush(bool forced);
  size_t TakeDropped() { return dropped_.exchange(0, std::memory_order_relaxed); }
  // The worker calls `each_period(argument)` every `period_ms`, and delivers full buffers; 0: never.
  void SetPeriod(uint32_t period_ms, void (*each_period)(void*), void* argument);

  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t capacity_bytes = 0, used_bytes = 0;
    size_t max_records = 0, records = 0;  // max_records 0: as many as fit

    bool Fits(size_t record_bytes) const {
      return bytes != nullptr && used_bytes + record_bytes <= capacity_bytes &&
             (max_records == 0 || records < max_records);
    }
  };
  // Where the records of one thread, or of all, go.
  struct Lane {
    std::mutex mutex;  // taken before ActivityBuffers::mutex_; guards what follows
    Buffer current;
    std::vector<Buffer> spare;  // lent by the client to threads that lost the race for `current`
    bool thread_ended = false;
  };

 private:
  Lane* ThreadLane();
  // `lock` holds the lane; it is let go while the client is asked for memory.
  void WriteTo(Lane* lane, BufferLender* lender, std::unique_lock<std::mutex>* lock, uint32_t kind, const void* newest);
  void Worker();
  void Deliver(bool partly_filled, bool all);
  void CollectPartlyFilled();
  void Complete(const Buffer& buffer);

  std::atomic<BufferLender*> lender_{nullptr};
  std::atomic<bool> per_thread_;
  std::atomic<size_t> dropped_{0};
  std::mutex delivery_mutex_;  // one delivery at a time; taken first
  Lane shared_lane_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable work_;
  std::vector<std::shared_ptr<Lane>> thread_lanes_;
  struct Waiting {
    Buffer buffer;
    uint64_t due_delivery;  // late delivery: not before this many
  };
  std::vector<Waiting> full_;
  uint64_t deliveries_ = 0;
  bool worker_started_ = false;
  uint32_t period_ms_ = 0;
  void (*each_period_)(void*) = nullptr;
  void* period_argument_ = nullptr;
};

// Records that the calling thread wrote since the last call: what its CUDA call is to pay for.
uint64_t TakeRecordsWritten();

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_BUFFERS_H_
