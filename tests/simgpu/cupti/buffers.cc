#include "tests/simgpu/cupti/buffers.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {
namespace {

thread_local uint64_t records_written = 0;

// The lanes that this thread has, one a client, and the mark they get when it ends.
struct ThreadLanes {
  std::vector<std::pair<const ActivityBuffers*, std::shared_ptr<ActivityBuffers::Lane>>> lanes;
  ~ThreadLanes() {
    for (auto& [owner, lane] : lanes) {
      std::lock_guard lock(lane->mutex);
      lane->thread_ended = true;
    }
  }
};

}  // namespace

uint64_t TakeRecordsWritten() {
  const uint64_t written = records_written;
  records_written = 0;
  return written;
}

ActivityBuffers::ActivityBuffers() : per_thread_(ActiveLayout().per_thread_buffers_default) {}

void ActivityBuffers::Register(BufferLender* lender) {
  lender_.store(lender, std::memory_order_release);
  std::lock_guard lock(mutex_);
  if (worker_started_) return;
  worker_started_ = true;
  std::thread([this] { Worker(); }).detach();
}

ActivityBuffers::Lane* ActivityBuffers::ThreadLane() {
  thread_local ThreadLanes of_thread;
  for (const auto& [owner, lane] : of_thread.lanes) {
    if (owner == this) return lane.get();
  }
  auto lane = std::make_shared<Lane>();
  of_thread.lanes.emplace_back(this, lane);
  std::lock_guard lock(mutex_);
  thread_lanes_.push_back(lane);
  return lane.get();
}

void ActivityBuffers::Write(uint32_t kind, const void* newest) {
  BufferLender* lender = lender_.load(std::memory_order_acquire);
  if (lender == nullptr) return;
  Lane& lane = per_thread() ? *ThreadLane() : shared_lane_;
  std::unique_lock lock(lane.mutex);
  WriteTo(&lane, lender, &lock, kind, newest);
}

void ActivityBuffers::WriteTo(Lane* lane, BufferLender* lender, std::unique_lock<std::mutex>* lock, uint32_t kind,
                              const void* newest) {
  const Layout& layout = ActiveLayout();
  const size_t bytes = layout.RecordBytes(kind);
  if (bytes == 0) return;  // younger than this version
  ++records_written;
  bool asked = false;
  while (!lane->current.Fits(bytes)) {
    if (lane->current.bytes != nullptr) {
      std::lock_guard full_lock(mutex_);
      full_.push_back({lane->current, deliveries_ + ActiveFaults().Parameter(Fault::kLateDelivery)});
      lane->current = {};
      work_.notify_one();
    }
    if (!lane->spare.empty()) {
      lane->current = lane->spare.back();
      lane->spare.pop_back();
      continue;
    }
    if (asked) {  // the client has none, or a uselessly small one
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    lock->unlock();
    Buffer fresh;
    const uint64_t begin_stamp_ns = StampNow();
    lender->Request(&fresh.bytes, &fresh.capacity_bytes, &fresh.max_records);
    NoteBufferRequest(begin_stamp_ns);
    if (fresh.bytes == nullptr && FaultOn(Fault::kNullBufferCrash)) std::raise(SIGSEGV);
    lock->lock();
    asked = fresh.bytes == nullptr || fresh.capacity_bytes < bytes;
    if (fresh.bytes == nullptr) continue;
    if (lane->current.bytes == nullptr) {
      lane->current = fresh;
    } else {
      lane->spare.push_back(fresh);
    }
  }
  layout.Convert(kind, newest, lane->current.bytes + lane->current.used_bytes);
  lane->current.used_bytes += bytes;
  ++lane->current.records;
}

void ActivityBuffers::CollectPartlyFilled() {
  std::vector<std::shared_ptr<Lane>> lanes;
  {
    std::lock_guard lock(mutex_);
    lanes = thread_lanes_;
  }
  lanes.emplace_back(std::shared_ptr<void>(), &shared_lane_);  // not owned
  for (const std::shared_ptr<Lane>& lane : lanes) {
    std::lock_guard lane_lock(lane->mutex);
    std::lock_guard lock(mutex_);
    if (lane->current.records != 0) {
      full_.push_back({lane->current, deliveries_ + ActiveFaults().Parameter(Fault::kLateDelivery)});
      lane->current = {};
    }
    if (!lane->thread_ended) continue;
    // Its memory comes back unfilled, so that the client has all of it again.
    lane->spare.push_back(lane->current);
    for (const Buffer& buffer : lane->spare) {
      if (buffer.bytes != nullptr) full_.push_back({buffer, 0});
    }
    lane->spare.clear();
    lane->current = {};
    thread_lanes_.erase(std::remove(thread_lanes_.begin(), thread_lanes_.end(), lane), thread_lanes_.end());
  }
}

void ActivityBuffers::Complete(const Buffer& buffer) {
  BufferLender* lender = lender_.load(std::memory_order_acquire);
  size_t used_bytes = buffer.used_bytes;
  if (used_bytes != 0 && FaultStrikes(Fault::kNeverDelivered)) return;
  if (used_bytes != 0 && FaultStrikes(Fault::kLostBuffers)) {
    dropped_.fetch_add(buffer.records, std::memory_order_relaxed);
    used_bytes = 0;
  }
  lender->Complete(buffer.bytes, buffer.capacity_bytes, used_bytes);
}

void ActivityBuffers::Deliver(bool partly_filled, bool all) {
  std::lock_guard delivery(delivery_mutex_);
  if (partly_filled) CollectPartlyFilled();
  std::vector<Buffer> ready;
  {
    std::lock_guard lock(mutex_);
    ++deliveries_;
    const auto due = std::stable_partition(full_.begin(), full_.end(), [this, all](const Waiting& waiting) {
      return !all && waiting.due_delivery > deliveries_;
    });
    for (auto waiting = due; waiting != full_.end(); ++waiting) ready.push_back(waiting->buffer);
    full_.erase(due, full_.end());
  }
  for (const Buffer& buffer : ready) Complete(buffer);
}

void ActivityBuffers::Flush(bool forced) {
  if (registered()) Deliver(true, forced);
}

void ActivityBuffers::SetPeriod(uint32_t period_ms, void (*each_period)(void*), void* argument) {
  std::lock_guard lock(mutex_);
  period_ms_ = period_ms;
  each_period_ = each_period;
  period_argument_ = argument;
  work_.notify_one();
}

void ActivityBuffers::Worker() {
  const bool late = FaultOn(Fault::kLateDelivery);  // then only flushes deliver
  for (;;) {
    void (*each_period)(void*) = nullptr;
    void* argument = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (full_.empty() || late) {
        if (period_ms_ == 0) {
          work_.wait(lock);
        } else if (work_.wait_for(lock, std::chrono::milliseconds(period_ms_)) == std::cv_status::timeout) {
          each_period = each_period_;
          argument = period_argument_;
        }
      }
    }
    if (each_period != nullptr) each_period(argument);
    if (!late) Deliver(false, false);
  }
}

}  // namespace simgpu::cupti
