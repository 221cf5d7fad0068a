// What the files of this folder share about the one CUPTI session of the process. Not included from elsewhere.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/buffer_pool.h"
#include "agent/cupti/cupti_library.h"
#include "agent/hot/recorder.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {

enum class CuptiPhase : uint32_t { kUntried, kMissing, kTaken, kActive };

// Constant-initialised and never destroyed: CUPTI's worker may call back while the process exits. After set-up, CUPTI
// is called from the keeper thread (keeper_thread.h) and from CUPTI's own callbacks alone.
struct CuptiSession {
  std::atomic<CuptiPhase> phase{CuptiPhase::kUntried};
  CuptiFunctions cupti;
  BufferPool pool;
  ActivityDecoder decoder;
  CUpti_SubscriberHandle subscriber = nullptr;
  uint32_t version = 0;
  uint32_t kinds_on = 0;       // by row of kKinds in session.cc
  uint32_t kinds_refused = 0;  // this library or driver will not enable them: asked once a subscription
  bool callbacks_on = false;
  bool configured = false;              // attributes and timestamp callback: once a process
  bool own_clock = false;               // CUPTI stamps with our callback
  std::atomic<int32_t> pid{0};          // the process that set CUPTI up: a forked child must not touch it
  std::atomic<uint64_t> operations{0};  // GPU records written
};
extern CuptiSession g_cupti_session;

inline void CheckCupti(CUptiResult result) noexcept {
  if (result != CUPTI_SUCCESS) Count(wire::Counter::kCuptiErrors);
}

// activity_buffers.cc: given to cuptiActivityRegisterCallbacks.
void CUPTIAPI RequestActivityBuffer(uint8_t** buffer, size_t* bytes, size_t* max_records);
void CUPTIAPI CompleteActivityBuffer(CUcontext context, uint32_t stream_id, uint8_t* buffer, size_t bytes,
                                     size_t valid_bytes);

// api_callback.cc: given to cuptiSubscribe.
void CUPTIAPI OnCuptiCallback(void* user_data, CUpti_CallbackDomain domain, CUpti_CallbackId callback_id,
                              const void* data);

}  // namespace stallscope::agent
