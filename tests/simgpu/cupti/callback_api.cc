// The callback API and what every client asks first: version, result texts, names.
#include <cupti.h>

#include <cstring>
#include <string>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/cupti/activity_functions.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/names.h"
#include "tests/simgpu/cupti/subscriber_sessions.h"

using simgpu::cupti::Client;
using simgpu::cupti::Clients;

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = simgpu::cupti::LibraryApiVersion();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
#define SIMGPU_NAME(name) \
  case name:              \
    *text = #name;        \
    return CUPTI_SUCCESS
    SIMGPU_NAME(CUPTI_SUCCESS);
    SIMGPU_NAME(CUPTI_ERROR_INVALID_PARAMETER);
    SIMGPU_NAME(CUPTI_ERROR_INVALID_OPERATION);
    SIMGPU_NAME(CUPTI_ERROR_MAX_LIMIT_REACHED);
    SIMGPU_NAME(CUPTI_ERROR_NOT_COMPATIBLE);
    SIMGPU_NAME(CUPTI_ERROR_NOT_INITIALIZED);
    SIMGPU_NAME(CUPTI_ERROR_INVALID_KIND);
    SIMGPU_NAME(CUPTI_ERROR_QUEUE_EMPTY);
    SIMGPU_NAME(CUPTI_ERROR_NOT_SUPPORTED);
    SIMGPU_NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    SIMGPU_NAME(CUPTI_ERROR_UNKNOWN);
#undef SIMGPU_NAME
    default:
      *text = "<unknown>";
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetLastError(void) { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                                  void* user_data) {
  return Clients::Get().Subscribe(subscriber, callback, user_data, nullptr, false);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                                     void* user_data, CUpti_SubscriberParams* params) {
  if (params != nullptr && params->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  const char* name = params == nullptr ? nullptr : params->subscriberName;
  const bool share = params != nullptr && simgpu::cupti::WantsToShare(*params);
  const std::string holder = Clients::Get().FirstSubscriberName();
  const CUptiResult result = Clients::Get().Subscribe(subscriber, callback, user_data, name, share);
  const bool tell_holder = params != nullptr && params->oldSubscriberName != nullptr && params->oldSubscriberSize != 0;
  if ((result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || share) && tell_holder) {
    std::strncpy(params->oldSubscriberName, holder.c_str(), params->oldSubscriberSize - 1);
    params->oldSubscriberName[params->oldSubscriberSize - 1] = '\0';
  }
  return result;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return Clients::Get().Unsubscribe(subscriber);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                                       CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  Client* const client = Clients::Get().Of(subscriber);
  if (client == nullptr || domain >= CUPTI_CB_DOMAIN_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  client->switches.SetCallback(domain, cbid, enable != 0);
  Clients::Get().Connect();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                                     CUpti_CallbackDomain domain) {
  Client* const client = Clients::Get().Of(subscriber);
  if (client == nullptr || domain >= CUPTI_CB_DOMAIN_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  client->switches.SetDomain(domain, enable != 0);
  Clients::Get().Connect();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  for (CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
                                      CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX, CUPTI_CB_DOMAIN_STATE}) {
    const CUptiResult result = cuptiEnableDomain(enable, subscriber, domain);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  const Client* const client = Clients::Get().Of(subscriber);
  if (enable == nullptr || client == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = client->switches.CallbackOn(domain, cbid) ? 1 : 0;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const char* found = nullptr;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < simgpu::cupti::kRuntimeNameCount) {
    found = simgpu::cupti::kRuntimeNames[cbid];
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < simgpu::cupti::kDriverNameCount) {
    found = simgpu::cupti::kDriverNames[cbid];
  }
  if (found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetContextId(CUcontext, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = simgpu::CurrentDevice()->context_id();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = static_cast<uint32_t>(simgpu::CurrentOrdinal());
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext, CUstream stream, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = simgpu::StreamOf(stream)->id();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t, uint32_t* id) {
  return cuptiGetStreamId(context, stream, id);
}
