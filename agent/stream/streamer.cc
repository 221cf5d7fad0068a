#include "agent/stream/streamer.h"

#include <string.h>
#include <time.h>

#include "agent/entry/lifecycle.h"
#include "agent/entry/log.h"
#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"
#include "agent/stacks/stacks.h"
#include "agent/stream/arena.h"
#include "agent/stream/control.h"
#include "agent/stream/hello.h"
#include "agent/stream/level.h"
#include "agent/stream/notices.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kOutputBytes = 3u << 20;
constexpr uint64_t kSendAtBytes = 256u << 10;  // larger gains nothing, and the socket's buffer is about that size
constexpr uint64_t kReceivedBytes = 64u << 10;
constexpr uint64_t kFirstRetryNs = 50'000'000, kLongestRetryNs = 5'000'000'000;
constexpr uint64_t kRefusedRetryNs = 60'000'000'000;
constexpr uint64_t kSecondNs = 1'000'000'000;

}  // namespace

bool Streamer::Create() noexcept {
  counted_cpu_ns_ = 0;  // a new thread's time begins at 0
  output_bytes_ = MapArray<uint8_t>(kOutputBytes);
  detached_ = false;
  cursors_ = MapArray<SlotCursor>(g_header->slot_count);
  said_stacks_ = MapArray<uint32_t>(g_header->stack_capacity + 1);
  publications_ = MapArray<Publication>(4 * g_header->slot_count);
  records_ = MapArray<PlainRecord>(BatchEncoder::kMaxRecords);
  received_ = MapArray<uint8_t>(kReceivedBytes);
  if (!encoder_.Create() || output_bytes_ == nullptr || cursors_ == nullptr || said_stacks_ == nullptr ||
      publications_ == nullptr || records_ == nullptr || received_ == nullptr) {
    Destroy();
    return false;
  }
  output_ = ProtoWriter(output_bytes_, kOutputBytes);
  return true;
}

void Streamer::Destroy() noexcept {
  encoder_.Destroy();
  UnmapArray(output_bytes_, kOutputBytes);
  UnmapArray(cursors_, g_header->slot_count);
  UnmapArray(said_stacks_, g_header->stack_capacity + 1);
  UnmapArray(publications_, 4 * g_header->slot_count);
  UnmapArray(records_, BatchEncoder::kMaxRecords);
  UnmapArray(received_, kReceivedBytes);
}

void Streamer::Adopt(Connection connection, uint64_t hellos) noexcept {
  connection_ = connection;
  hellos_ = hellos;
  ++connection_number_;
  RepeatNotices();  // the process may have had another connection before
}

void Streamer::Announce(bool streaming) noexcept {
  // Reconnects: hellos on other connections than this one.
  WriteHello(&output_, hellos_ > 0 ? hellos_ - 1 : 0, streaming);
}

void Streamer::SendNow() noexcept { Flush(MonotonicNs()); }

void Streamer::Disconnect(uint64_t now_ns) noexcept {
  connection_.Close();
  // What was encoded and not sent is still in the rings; the frames go.
  if (output_.bytes() != output_sent_) Count(wire::Counter::kFramesDropped);
  output_.Clear();
  output_sent_ = 0;
  publication_count_ = 0;
  received_bytes_ = 0;
  attempt_delay_ns_ = kFirstRetryNs;
  next_attempt_ns_ = now_ns + attempt_delay_ns_;
}

bool Streamer::EnsureConnected(uint64_t now_ns) noexcept {
  if (connection_.open()) return true;
  if (now_ns < next_attempt_ns_ || !StillOurs(memory_fd_)) return false;
  uint8_t bytes[2048];
  ProtoWriter hello(bytes, sizeof(bytes));
  uint64_t sent = 0;
  if (!connection_.Connect(/*high=*/true) || !WriteHello(&hello, hellos_, /*streaming=*/true) ||
      connection_.Send(hello.data(), hello.bytes(), &sent, memory_fd_.fd) != SendResult::kDone) {
    connection_.Close();
    attempt_delay_ns_ = attempt_delay_ns_ == 0 ? kFirstRetryNs : attempt_delay_ns_ * 2;
    if (attempt_delay_ns_ > kLongestRetryNs) attempt_delay_ns_ = kLongestRetryNs;
    next_attempt_ns_ = now_ns + attempt_delay_ns_;
    return false;
  }
  Log("connected to the collector, hellos before:", nullptr, static_cast<int64_t>(hellos_));
  ++hellos_;
  ++connection_number_;
  attempt_delay_ns_ = 0;
  socket_bytes_ += sent;
  encoder_.ForgetIntroductions();
  RepeatNotices();
  next_health_ns_ = next_clock_ns_ = 0;
  return true;
}

void Streamer::Publish() noexcept {
  for (uint32_t i = 0; i < publication_count_; ++i) {
    wire::ThreadSlot* slot = g_threads[publications_[i].slot].slot;
    slot->lost.store(publications_[i].lost, std::memory_order_relaxed);
    slot->drained.store(publications_[i].drained, std::memory_order_release);
  }
  publication_count_ = 0;
}

bool Streamer::Flush(uint64_t now_ns) noexcept {
  if (output_.bytes() == 0) return true;
  uint64_t sent = 0;
  const SendResult result = connection_.Send(output_.data() + output_sent_, output_.bytes() - output_sent_, &sent);
  output_sent_ += sent;
  socket_bytes_ += sent;
  if (result == SendResult::kClosed) {
    Log("the collector went away");
    Disconnect(now_ns);
    return false;
  }
  if (result == SendResult::kWouldBlock) {
    Count(wire::Counter::kSocketRetries);
    return false;
  }
  Publish();
  output_.Clear();
  output_sent_ = 0;
  return true;
}

void Streamer::ApplyControl(const uint8_t* frame, uint64_t length, uint64_t now_ns) noexcept {
  ControlRequest request;
  if (!ParseControlFrame(frame, length, &request)) return;
  wire::Header* header = g_header;
  if (request.refused) {
    Log("the collector refused:", request.refusal);
    Disconnect(now_ns);
    next_attempt_ns_ = now_ns + kRefusedRetryNs;
    return;
  }
  if (request.has_threshold) {
    header->wait_threshold_ns.store(request.wait_threshold_ns, std::memory_order_relaxed);
    if (!request.has_level) ReportState(kStateLevel, header->control.load(std::memory_order_relaxed) & 0xff, nullptr);
  }
  if (request.has_stacks) SetStacks(request.stacks);
  SetCostOrders(request.cost_limit_ppm, request.node_window_ms);
  if (request.has_level) {
    SetLevel(static_cast<uint8_t>(request.level));
    ReportState(kStateLevel, request.level, nullptr);
  }
  if (request.detach) Detach();
}

void Streamer::Detach() noexcept {
  RunDetach();
  SetLevel(static_cast<uint8_t>(wire::Level::kOff));
  ReportState(kStateDetached, 0, nullptr);
  detached_ = true;
}

void Streamer::ReceiveControl(uint64_t now_ns) noexcept {
  const int64_t count = connection_.Receive(received_ + received_bytes_, kReceivedBytes - received_bytes_);
  if (count < 0) return Disconnect(now_ns);
  received_bytes_ += static_cast<uint64_t>(count);
  uint64_t at = 0;
  while (received_bytes_ - at >= 4 && connection_.open()) {
    uint32_t length = 0;
    memcpy(&length, received_ + at, 4);
    // A control frame has a few dozen bytes; more is no collector of ours.
    if (length > kReceivedBytes - 4) return Disconnect(now_ns);
    if (received_bytes_ - at - 4 < length) break;
    ApplyControl(received_ + at + 4, length, now_ns);
    at += 4 + length;
  }
  if (!connection_.open()) return;
  memmove(received_, received_ + at, received_bytes_ - at);
  received_bytes_ -= at;
}

uint32_t Streamer::Round(uint64_t now_ns) noexcept {
  g_header->heartbeat_ns.store(now_ns, std::memory_order_relaxed);
  if (now_ns >= next_refresh_ns_) {
    RefreshClock(g_header);
    next_refresh_ns_ = now_ns + kSecondNs / 20;
  }
  uint32_t taken = 0;
  fullest_ring_ = 0;
  if (EnsureConnected(now_ns)) ReceiveControl(now_ns);
  if (connection_.open() && Flush(now_ns)) {
    WriteNotices(&output_);
    // Half a second after the GPU's clock was found to be another, too: until then its error was not known.
    const bool clock_changed = (GpuClockUncertaintyNs() != 0) != said_gpu_uncertainty_;
    if (now_ns >= next_clock_ns_ || (clock_changed && now_ns + 9 * kSecondNs / 2 >= next_clock_ns_)) {
      said_gpu_uncertainty_ = GpuClockUncertaintyNs() != 0;
      WriteClock(now_ns);
      next_clock_ns_ = now_ns + 5 * kSecondNs;
    }
    RunStackRound(now_ns);
    IntroduceModules();
    round_complete_ = true;
    const uint32_t slots = g_header->slots_used.load(std::memory_order_acquire);
    for (uint32_t index = 0; index < slots && connection_.open(); ++index) {
      taken += DrainSlot(index, now_ns);
      if (output_.bytes() >= kSendAtBytes && !Flush(now_ns)) {
        round_complete_ = false;
        break;
      }
    }
    if (taken != 0 && round_complete_ && connection_.open()) WriteDrained(now_ns);
    // Counters of loss are published with the frames that skip it, so Health comes after they are on their way.
    if (connection_.open() && output_sent_ == 0 && Flush(now_ns) && now_ns >= next_health_ns_) {
      if (round_complete_) WriteDrained(now_ns);  // also when nothing happens any more
      WriteHealth(now_ns);
      next_health_ns_ = now_ns + kSecondNs;
      Flush(now_ns);
    }
  }
  if (now_ns >= next_reap_ns_ || slots_are_scarce_ ||
      g_fresh_claims.load(std::memory_order_relaxed) >= g_header->slot_count / kClaimsToRing) {
    g_fresh_claims.store(0, std::memory_order_relaxed);
    Reap();
    next_reap_ns_ = now_ns + kSecondNs / 5;
  }
  return taken;
}

void Streamer::Finish(uint64_t deadline_ns, bool goodbye, bool exec) noexcept {
  if (!connection_.open()) return;
  bool written = false;
  for (uint64_t now_ns = MonotonicNs(); now_ns < deadline_ns && connection_.open(); now_ns = MonotonicNs()) {
    if (Flush(now_ns)) {
      if (written) break;
      if (Round(now_ns) == 0 && connection_.open() && output_sent_ == 0) {
        WriteHealth(now_ns);
        if (goodbye) WriteGoodbye(&output_, now_ns, exec);
        written = true;
        continue;
      }
    }
    if (output_.bytes() != 0) {
      const timespec pause = {0, 1'000'000};
      RawSyscall(SYS_nanosleep, AsArgument(&pause));
    }
  }
}

}  // namespace stallscope::agent
