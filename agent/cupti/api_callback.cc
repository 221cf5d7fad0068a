// CUPTI's callback around every CUDA call that was asked for, on the thread that makes the call.
#include <errno.h>

#include "agent/cuda/call_record.h"
#include "agent/cuda/call_table.h"
#include "agent/cupti/session_state.h"

namespace stallscope::agent {

void CUPTIAPI OnCuptiCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId callback_id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const wire::CudaDomain our_domain =
      domain == CUPTI_CB_DOMAIN_RUNTIME_API ? wire::CudaDomain::kRuntime : wire::CudaDomain::kDriver;
  const CudaCallInfo* call = FindCudaCall(our_domain, callback_id);
  if (call == nullptr) return;
  const int saved_errno = errno;
  const auto* api = static_cast<const CUpti_CallbackData*>(data);
  if (api->callbackSite == CUPTI_API_ENTER) {
    OnCallbackEnter(*call, api->correlationId, api->functionParams);
  } else {
    // cudaError_t and CUresult are both enumerations of int's size.
    const auto* result = static_cast<const int32_t*>(api->functionReturnValue);
    OnCallbackExit(*call, api->functionParams, result == nullptr ? 0 : *result);
  }
  errno = saved_errno;
}

}  // namespace stallscope::agent
