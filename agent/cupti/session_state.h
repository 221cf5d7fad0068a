// What the files of this folder share about the one CUPTI session of the process. Not included from elsewhere.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/buffer_pool.h"
#include "agent/cupti/cupti_interface.h"
#include "agent/hot/recorder.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {

// kTaken: another client has it, or has just had it. kStolen: one that we do not see has taken our buffers. kGone: never
// again in this process.
enum class CuptiPhase : uint32_t { kUntried, kMissing, kTaken, kStolen, kActive, kGone };

// Constant-initialised and never destroyed: CUPTI's worker may call back while the process exits. After set-up, CUPTI
// is called from the keeper thread (keeper_thread.h) and from CUPTI's own callbacks alone, never under a lock.
struct CuptiSession {
  std::atomic<CuptiPhase> phase{CuptiPhase::kUntried};
  CuptiInterface cupti;
  BufferPool pool;
  ActivityDecoder decoder;
  uint32_t kinds_on = 0;       // by row of kKinds in activity_kinds.cc
  uint32_t kinds_refused = 0;  // this library or driver will not enable them: asked once a subscription
  bool callbacks_on = false;
  bool own_clock = false;                // CUPTI stamps with our callback
  std::atomic<int32_t> pid{0};           // the process that set CUPTI up: a forked child must not touch it
  std::atomic<uint64_t> operations{0};   // GPU records written
  std::atomic<uint64_t> enqueued{0};     // calls that put work on a stream, seen by callback
  std::atomic<uint64_t> completions{0};  // buffers that CUPTI gave back with something of the program in them
  std::atomic<uint64_t> pulses{0};       // ... at all
  // A flush may make a record of itself, for which CUPTI wants a buffer: on the keeper's thread, and it says nothing.
  std::atomic<uint64_t> requests_of_keeper{0};
  static constexpr uint32_t kMeasureOneIn = 64;
  std::atomic<uint64_t> callback_ticks{0};  // spent in our callbacks and around them, estimated from one in so many
  bool callback_cost_wanted = false;        // this subscription's has not been measured
  uint32_t callback_cost_ns = 0;            // what CUPTI itself spends around one (callback_cost.h); 0: not known
  std::atomic<uint32_t> callback_cost_ticks{0};
  std::atomic<bool> finalize_wanted{false};
};
extern CuptiSession g_cupti_session;

inline void CheckCupti(CUptiResult result) noexcept {
  if (result != CUPTI_SUCCESS) Count(wire::Counter::kCuptiErrors);
}

inline wire::Level CurrentLevel() noexcept {
  const wire::Header* header = SharedHeader();
  if (header == nullptr) return wire::Level::kOff;
  return static_cast<wire::Level>(header->control.load(std::memory_order_relaxed) & 0xff);
}

// --- subscription.cc. On the thread that sets CUPTI up, then on the keeper.
// One try to become a subscriber, with everything enabled that the level asks for. `returned`: CUPTI was in other hands.
void Subscribe(bool returned) noexcept;
// Gets what CUPTI has. Never forced: that would hand out running kernels without an end and not give them again. `last`:
// also when nothing was enqueued since the last time; what ran then may have ended.
void FlushCupti(bool last = false) noexcept;
// Nothing of ours is on any more, and CUPTI's settings are as they were found. `client`: who takes over; nullptr: nobody.
void LetGoOfCupti(const char* client) noexcept;
// Another client has the buffers already: our callbacks end; kinds and settings are its own now.
void GiveUpBuffers() noexcept;

// --- activity_kinds.cc. On the same threads.
struct Detail {
  wire::Level level = wire::Level::kOff;
  bool gpu_records = true;  // false: calls alone
  bool nodes = false;       // each node of a graph, whatever the level
};
// Enables what is wanted and disables the rest; callbacks too.
void ApplyDetail(const Detail& detail) noexcept;
// The kinds' state is not known any more: the next ApplyDetail asks for all of them.
void ForgetKinds() noexcept;

// --- activity_buffers.cc: what CUPTI calls for memory, in both interfaces.
extern const BufferFunctions kBufferFunctions;

// --- api_callback.cc: given to cuptiSubscribe.
void CUPTIAPI OnCuptiCallback(void* user_data, CUpti_CallbackDomain domain, CUpti_CallbackId callback_id,
                              const void* data);

}  // namespace stallscope::agent
