// Buffers that CUPTI fills with activity records.
//
// Who asks: CUPTI, on a thread of the program inside a CUDA call, so a buffer must be ready: one mmap at set-up, handed
// out by a bit mask without a lock. Who returns: the thread that has decoded the buffer. When all are out, one shared
// discard buffer is handed out and counted (older libraries crash on a null buffer); what comes back in it is not read.
// Buffers are handed out zeroed, as CUPTI is told, so that it does not clear them on the program's thread.
//
// Buffers that CUPTI handed to another client when that took over never come back, or much later. Each turn of holding
// CUPTI therefore takes its buffers from the next of a few sets; a late one is welcome whenever it comes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stallscope::agent {

class BufferPool {
 public:
  static constexpr uint32_t kBuffers = 32;  // a set
  static constexpr uint32_t kSets = 4;
  static constexpr size_t kBufferBytes = 512 * 1024;

  // Maps the memory (touched only as buffers are used). False when the system gives none.
  bool Map() noexcept;

  // Never nullptr once mapped.
  uint8_t* Take() noexcept;

  // True when the buffer is one of ours and holds records; false for the discard buffer.
  bool Owns(const uint8_t* buffer) const noexcept;

  bool IsDiscard(const uint8_t* buffer) const noexcept { return buffer == discard_; }

  // Clears the whole buffer (CUPTI may have written past the valid bytes) and makes it ready again.
  void Return(uint8_t* buffer) noexcept;

  // Begins a new turn: what is out now is not waited for any more. Not while CUPTI may ask for a buffer. Returns how many
  // of the last turn did not come back.
  uint32_t BeginTurn() noexcept;

  // Buffers of this turn that CUPTI holds now. The discard buffer does not count.
  uint32_t Outstanding() const noexcept;

  // How often CUPTI asked, and how often it got the discard buffer.
  uint64_t requests() const noexcept { return requests_.load(std::memory_order_relaxed); }
  uint64_t discarded() const noexcept { return discarded_.load(std::memory_order_relaxed); }

 private:
  uint8_t* memory_ = nullptr;
  uint8_t* discard_ = nullptr;
  std::atomic<uint32_t> set_{0};
  std::atomic<uint32_t> free_[kSets] = {};  // bit i: buffer i is ready (release on return, acquire on take: its zeroes)
  std::atomic<uint32_t> lost_[kSets] = {};  // bit i: buffer i has been out since an earlier turn
  std::atomic<uint64_t> requests_{0}, discarded_{0};
};

}  // namespace stallscope::agent
