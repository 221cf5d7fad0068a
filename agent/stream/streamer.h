// What the streaming thread does in one round: rings to frames, frames to the socket, the collector's wishes to the
// control word.
//
// Streaming thread only. Nothing of a ring counts as drained before the socket took the frame that holds it; when the
// connection breaks in between, the records are still in the ring and go out again on the next one (or are overwritten,
// and counted).
#pragma once

#include <cstdint>

#include "agent/stream/batch_encoder.h"
#include "agent/stream/connection.h"
#include "agent/stream/proto_writer.h"

namespace stallscope::agent {

class Streamer {
 public:
  // False: no memory; nothing is left behind. Also after a detach.
  bool Create() noexcept;
  void Destroy() noexcept;

  // Takes over the connection on which the process said hello without a thread; negative: there is none.
  void Adopt(Connection connection, uint64_t hellos) noexcept;

  // One round. Returns how many records went into frames.
  uint32_t Round(uint64_t now_ns) noexcept;

  // How full the fullest ring was when the last round came to it, in thousandths; 1000 and more: it ran over.
  uint32_t fullest_ring() const noexcept { return fullest_ring_; }
  bool connected() const noexcept { return connection_.open(); }
  // More lay in a ring than one round takes.
  bool behind() const noexcept { return !round_complete_ && connected() && !waiting(); }
  // Frames wait for room in the socket.
  bool waiting() const noexcept { return output_.bytes() != 0; }

  // Everything that is in the rings now, then Goodbye if asked for. Gives up at the deadline.
  void Finish(uint64_t deadline_ns, bool goodbye, bool exec) noexcept;

  // Sends Hello again on the same connection.
  void Announce(bool streaming) noexcept;

  void SendNow() noexcept;
  void Close() noexcept { connection_.Close(); }

  uint64_t hellos() const noexcept { return hellos_; }
  // The memfd as this thread's descriptor table knows it.
  void UseMemoryFd(const OwnFd& fd) noexcept { memory_fd_ = fd; }
  void Disconnect(uint64_t now_ns) noexcept;
  bool detached() const noexcept { return detached_; }
  // As if the collector had asked for it.
  void Detach() noexcept;

 private:
  // The stacks of one batch of records need at most this much room in the output, once the modules are said.
  static constexpr uint64_t kMaxStackBytes = BatchEncoder::kMaxRecords * 600;

  struct SlotCursor {
    uint32_t generation, thread_id;
    uint32_t introduced_on;  // connection number
    uint64_t stuck_at, stuck_since_ns;
    uint64_t quiet_head;  // head at the last look of the reaper
  };
  // To be published once the output is on its way.
  struct Publication {
    uint32_t slot;
    uint64_t drained, lost;
  };

  bool EnsureConnected(uint64_t now_ns) noexcept;
  bool Flush(uint64_t now_ns) noexcept;  // true: the output is empty
  void Publish() noexcept;
  void ReceiveControl(uint64_t now_ns) noexcept;
  void ApplyControl(const uint8_t* frame, uint64_t length, uint64_t now_ns) noexcept;
  uint32_t DrainSlot(uint32_t index, uint64_t now_ns) noexcept;
  void IntroduceThread(uint32_t index, const wire::ThreadSlot& slot) noexcept;
  void WriteHealth(uint64_t now_ns) noexcept;
  void WriteClock(uint64_t now_ns) noexcept;
  void WriteDrained(uint64_t now_ns) noexcept;
  // What the records need of stacks and modules goes out before them, in a frame of its own (streamer_stacks.cc). The
  // records' provisional numbers become final.
  void IntroduceStacks(PlainRecord* records, uint32_t count) noexcept;
  void IntroduceModules() noexcept;
  void Reap() noexcept;
  void Retire(uint32_t index) noexcept;

  Connection connection_;
  OwnFd memory_fd_;
  uint64_t hellos_ = 0, socket_bytes_ = 0;
  uint64_t counted_cpu_ns_ = 0;  // of this thread's CPU time, already in Header::agent_cpu_ns
  uint64_t next_attempt_ns_ = 0, attempt_delay_ns_ = 0;
  uint64_t next_health_ns_ = 0, next_clock_ns_ = 0, next_reap_ns_ = 0, next_refresh_ns_ = 0;
  bool said_gpu_uncertainty_ = false;  // in the last Clock frame
  uint64_t retired_events_ = 0, retired_lost_ = 0, retired_short_waits_ = 0;
  uint32_t connection_number_ = 0, next_thread_id_ = 1, fullest_ring_ = 0;
  bool round_complete_ = true;  // all that was in the rings when the round began has been taken
  bool detached_ = false, output_is_retry_ = false, slots_are_scarce_ = false, slots_are_exhausted_ = false;

  BatchEncoder encoder_;
  ProtoWriter output_{nullptr, 0};
  uint8_t* output_bytes_ = nullptr;
  uint64_t output_sent_ = 0;
  uint32_t* said_stacks_ = nullptr;  // by number: on which connection
  SlotCursor* cursors_ = nullptr;
  Publication* publications_ = nullptr;
  uint32_t publication_count_ = 0;
  PlainRecord* records_ = nullptr;
  uint8_t* received_ = nullptr;
  uint64_t received_bytes_ = 0;
};

}  // namespace stallscope::agent
