// Buffers that CUPTI fills with activity records.
//
// Who asks: CUPTI, on a thread of the program inside a CUDA call, so a buffer must be ready: one mmap at set-up, handed
// out by a bit mask without a lock. Who returns: the thread that has decoded the buffer. When all are out, one shared
// discard buffer is handed out and counted (older libraries crash on a null buffer); what comes back in it is not read.
// Buffers are handed out zeroed, as CUPTI is told, so that it does not clear them on the program's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stallscope::agent {

class BufferPool {
 public:
  static constexpr uint32_t kBuffers = 32;
  static constexpr size_t kBufferBytes = 512 * 1024;

  // Maps the memory (touched only as buffers are used). False when the system gives none.
  bool Map() noexcept;

  // Never nullptr once mapped.
  uint8_t* Take() noexcept;

  // True when the buffer is one of ours and holds records; false for the discard buffer.
  bool Owns(const uint8_t* buffer) const noexcept;

  // Clears the whole buffer (CUPTI may have written past the valid bytes) and makes it ready again.
  void Return(uint8_t* buffer) noexcept;

  // Buffers that CUPTI holds now. The discard buffer does not count.
  uint32_t Outstanding() const noexcept;

 private:
  uint8_t* memory_ = nullptr;
  uint8_t* discard_ = nullptr;
  std::atomic<uint32_t> free_{0};  // bit i: buffer i is ready (release on return, acquire on take: its zeroes)
};

}  // namespace stallscope::agent
