// CUPTI's callback around every CUDA call that was asked for, on the thread that makes the call.
#include <errno.h>

#include "agent/cuda/call_record.h"
#include "agent/cuda/call_table.h"
#include "agent/cuda/capture_state.h"
#include "agent/cupti/callback_cost.h"
#include "agent/cupti/session_state.h"

namespace stallscope::agent {
namespace {

// Only after a detach, and only where the user asked for it: CUPTI ends as a whole, which it wants to do at the end of a
// CUDA call, on one thread, with nobody subscribed.
void Finalize() noexcept {
  CuptiSession& session = g_cupti_session;
  if (!session.finalize_wanted.exchange(false, std::memory_order_acq_rel)) return;
  LetGoOfCupti(nullptr);
  session.phase.store(CuptiPhase::kGone, std::memory_order_release);
  if (session.cupti.functions.cuptiFinalize != nullptr) CheckCupti(session.cupti.functions.cuptiFinalize());
}

}  // namespace

void CUPTIAPI OnCuptiCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId callback_id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const wire::CudaDomain our_domain =
      domain == CUPTI_CB_DOMAIN_RUNTIME_API ? wire::CudaDomain::kRuntime : wire::CudaDomain::kDriver;
  const CudaCallInfo* call = FindCudaCall(our_domain, callback_id);
  if (call == nullptr) return NoteUnlistedCallback();
  const int saved_errno = errno;
  const auto* api = static_cast<const CUpti_CallbackData*>(data);
  // What this costs the program: one call in so many is measured for all of them.
  const bool measured = api->correlationId % CuptiSession::kMeasureOneIn == 0;
  const uint64_t begin_ticks = measured ? Ticks() : 0;
  if (api->callbackSite == CUPTI_API_ENTER) {
    const uint64_t call_ticks = OnCallbackEnter(*call, api->correlationId, api->functionParams);
    if (Enqueues(call->call_class)) {
      g_cupti_session.decoder.NoteLaunch(api->correlationId, call_ticks != 0 ? call_ticks : Ticks());
    }
  } else {
    // cudaError_t and CUresult are both enumerations of int's size.
    const auto* result = static_cast<const int32_t*>(api->functionReturnValue);
    const bool succeeded = result == nullptr || *result == 0;
    OnCallbackExit(*call, api->functionParams, result == nullptr ? 0 : *result);
    if (succeeded && Enqueues(call->call_class) && !CapturesRunning()) {
      g_cupti_session.enqueued.fetch_add(1, std::memory_order_relaxed);
    }
    if (__builtin_expect(g_cupti_session.finalize_wanted.load(std::memory_order_relaxed), 0)) Finalize();
  }
  if (measured) {
    const uint64_t around_ticks = g_cupti_session.callback_cost_ticks.load(std::memory_order_relaxed);
    g_cupti_session.callback_ticks.fetch_add((Ticks() - begin_ticks + around_ticks) * CuptiSession::kMeasureOneIn,
                                             std::memory_order_relaxed);
  }
  errno = saved_errno;
}

}  // namespace stallscope::agent
