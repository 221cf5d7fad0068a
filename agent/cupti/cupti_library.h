// The process's own libcupti: which copy, and its functions.
//
// A second copy in one process is a second instance that collides with the first in the driver, so a mapped one is
// always used; otherwise the one that belongs to the mapped libcudart, by the major in its name. The agent never links
// CUPTI and never unloads it. Set-up only; the table is constant afterwards.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "agent/cupti/subscriber_interface.h"

namespace stallscope::agent {

// F(name): must be there. Optional functions came later than CUDA 11.8 or are absent on some platforms: nullptr when
// missing.
#define STALLSCOPE_CUPTI_REQUIRED(F)   \
  F(cuptiGetVersion)                   \
  F(cuptiGetResultString)              \
  F(cuptiSubscribe)                    \
  F(cuptiUnsubscribe)                  \
  F(cuptiEnableCallback)               \
  F(cuptiActivityRegisterCallbacks)    \
  F(cuptiActivityEnable)               \
  F(cuptiActivityDisable)              \
  F(cuptiActivityFlushAll)             \
  F(cuptiActivityGetNextRecord)        \
  F(cuptiActivityGetNumDroppedRecords) \
  F(cuptiActivitySetAttribute)         \
  F(cuptiGetTimestamp)                 \
  F(cuptiGetCallbackName)
#define STALLSCOPE_CUPTI_OPTIONAL(F)            \
  F(cuptiSubscribe_v2)                          \
  F(cuptiActivityRegisterTimestampCallback)     \
  F(cuptiActivityGetAttribute)                  \
  F(cuptiActivityEnableAndDump)                 \
  F(cuptiActivityEnableAllSyncRecords)          \
  F(cuptiActivityConfigureUnifiedMemoryCounter) \
  F(cuptiFinalize)

struct CuptiFunctions {
#define STALLSCOPE_F(name) decltype(&::name) name = nullptr;
  STALLSCOPE_CUPTI_REQUIRED(STALLSCOPE_F)
  STALLSCOPE_CUPTI_OPTIONAL(STALLSCOPE_F)
#undef STALLSCOPE_F
#define STALLSCOPE_F(name, parameters) CUptiResult(CUPTIAPI* name) parameters = nullptr;
  STALLSCOPE_CUPTI_PER_SUBSCRIBER(STALLSCOPE_F)
#undef STALLSCOPE_F

  // Every function of the per-subscriber interface is there.
  bool HasPerSubscriber() const noexcept;
};

// Fills `functions`. On failure returns false and leaves why in `reason` (for people: a State text); on success `reason`
// holds the library's file name.
bool LoadCupti(CuptiFunctions* functions, char* reason, size_t reason_bytes) noexcept;

}  // namespace stallscope::agent
