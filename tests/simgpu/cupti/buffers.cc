#include "tests/simgpu/cupti/buffers.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace simgpu::cupti {

ActivityBuffers& ActivityBuffers::Get() {
  static auto* buffers = new ActivityBuffers;  // leaked: the worker outlives static destruction
  return *buffers;
}

void ActivityBuffers::Register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  complete_.store(complete, std::memory_order_release);
  request_.store(request, std::memory_order_release);
  std::lock_guard lock(mutex_);
  if (worker_started_) return;
  worker_started_ = true;
  std::thread([this] { Worker(); }).detach();
}

void ActivityBuffers::Write(const void* record, size_t bytes) {
  const auto request = request_.load(std::memory_order_acquire);
  if (request == nullptr) return;
  std::unique_lock lock(mutex_);
  bool asked = false;
  while (!current_.Fits(bytes)) {
    if (current_.bytes != nullptr) {
      full_.push_back(current_);
      current_ = {};
      work_.notify_one();
    }
    if (!spare_.empty()) {
      current_ = spare_.back();
      spare_.pop_back();
      continue;
    }
    if (asked) {  // the client has none, or a uselessly small one
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    lock.unlock();
    Buffer fresh;
    request(&fresh.bytes, &fresh.capacity_bytes, &fresh.max_records);
    lock.lock();
    asked = fresh.bytes == nullptr || fresh.capacity_bytes < bytes;
    if (fresh.bytes == nullptr) continue;
    if (current_.bytes == nullptr) {
      current_ = fresh;
    } else {
      spare_.push_back(fresh);
    }
  }
  std::memcpy(current_.bytes + current_.used_bytes, record, bytes);
  current_.used_bytes += bytes;
  ++current_.records;
}

void ActivityBuffers::Deliver(bool partly_filled) {
  std::lock_guard delivery(delivery_mutex_);
  std::vector<Buffer> ready;
  {
    std::lock_guard lock(mutex_);
    ready.swap(full_);
    if (partly_filled && current_.records != 0) {
      ready.push_back(current_);
      current_ = {};
    }
  }
  const auto complete = complete_.load(std::memory_order_acquire);
  for (const Buffer& buffer : ready) complete(nullptr, 0, buffer.bytes, buffer.capacity_bytes, buffer.used_bytes);
}

void ActivityBuffers::Flush() { Deliver(true); }

void ActivityBuffers::SetPeriod(uint32_t period_ms, void (*each_period)()) {
  std::lock_guard lock(mutex_);
  period_ms_ = period_ms;
  each_period_ = each_period;
  work_.notify_one();
}

void ActivityBuffers::Worker() {
  for (;;) {
    void (*each_period)() = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (full_.empty()) {
        if (period_ms_ == 0) {
          work_.wait(lock);
        } else if (work_.wait_for(lock, std::chrono::milliseconds(period_ms_)) == std::cv_status::timeout) {
          each_period = each_period_;
        }
      }
    }
    if (each_period != nullptr) each_period();
    Deliver(false);
  }
}

}  // namespace simgpu::cupti
