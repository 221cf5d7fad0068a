// The functions with which another client of CUPTI begins and ends, exported before libcupti's own.
//
// The agent's own calls go through pointers of the library itself and never come here. A call that libcupti makes to
// itself passes straight through, and so does everything in a forked child.
#include <cupti.h>
#include <dlfcn.h>
#include <string.h>

#include "agent/cupti/other_clients.h"
#include "agent/cupti/session.h"
#include "agent/cupti/subscriber_interface.h"
#include "agent/cupti/text.h"
#include "agent/entry/exports.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

// What a program that reached us without any libcupti gets, as from a CUPTI without a driver.
constexpr CUptiResult kNoLibrary = CUPTI_ERROR_NOT_INITIALIZED;

struct Caller {
  char name[96];
  bool is_cupti = false;
};

// The file name of the module that calls; "torch.profiler" for torch's libraries, which is what its users know.
Caller CallerAt(const void* return_address) noexcept {
  Caller caller;
  Text text(caller.name, sizeof(caller.name));
  Dl_info module = {};
  if (dladdr(return_address, &module) == 0 || module.dli_fname == nullptr) {
    text.Add("another client");
    return caller;
  }
  const char* slash = strrchr(module.dli_fname, '/');
  const char* file = slash == nullptr ? module.dli_fname : slash + 1;
  caller.is_cupti = strncmp(file, "libcupti.so", strlen("libcupti.so")) == 0;
  if (strncmp(file, "libtorch", strlen("libtorch")) == 0) {
    text.Add("torch.profiler (").Add(file).Add(")");
  } else {
    text.Add(file);
  }
  return caller;
}

// Before the call goes on: the agent lets go of CUPTI. False: nothing of this call is to be noted.
bool LetGo(const void* return_address) noexcept {
  const Caller caller = CallerAt(return_address);
  if (caller.is_cupti || IsForkedChild()) return false;
  g_other_clients.Called(MonotonicNs());
  YieldCupti(caller.name);
  return true;
}

// The same for a call that ends something: nothing to let go of.
bool Note(const void* return_address) noexcept {
  const Caller caller = CallerAt(return_address);
  if (caller.is_cupti || IsForkedChild()) return false;
  g_other_clients.Called(MonotonicNs());
  return true;
}

template <typename Function>
Function* RealCupti(std::atomic<void*>* cached, const char* name) noexcept {
  void* function = cached->load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = ResolveNext(name, nullptr, "libcupti.so");
    cached->store(function, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function*>(function);
}

}  // namespace

#define STALLSCOPE_FIND_REAL(name, parameters)                          \
  static std::atomic<void*> cached{nullptr};                            \
  auto* const real = RealCupti<CUptiResult parameters>(&cached, #name); \
  if (real == nullptr) return kNoLibrary;                               \
  const void* const return_address = __builtin_return_address(0)

STALLSCOPE_EXPORT(CUptiResult, cuptiSubscribe,
                  (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void* user_data)) {
  STALLSCOPE_FIND_REAL(cuptiSubscribe, (CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*));
  const bool noted = LetGo(return_address);
  if (noted) g_other_clients.UsedProcessWide();
  const CUptiResult result = real(subscriber, callback, user_data);
  if (noted && result == CUPTI_SUCCESS) g_other_clients.Subscribed(/*shared=*/false);
  return result;
}

STALLSCOPE_EXPORT(CUptiResult, cuptiSubscribe_v2,
                  (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void* user_data,
                   const SubscriberParams* parameters)) {
  STALLSCOPE_FIND_REAL(cuptiSubscribe_v2,
                       (CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, const SubscriberParams*));
  const bool shared = parameters != nullptr &&
                      parameters->struct_bytes > offsetof(SubscriberParams, allow_multiple_subscribers) &&
                      parameters->allow_multiple_subscribers != 0;
  // Subscribers that all allow each other live side by side.
  const bool side_by_side = shared && CuptiIsShared();
  const bool noted = side_by_side ? Note(return_address) : LetGo(return_address);
  const CUptiResult result = real(subscriber, callback, user_data, parameters);
  if (noted && result == CUPTI_SUCCESS) g_other_clients.Subscribed(shared);
  return result;
}

STALLSCOPE_EXPORT(CUptiResult, cuptiUnsubscribe, (CUpti_SubscriberHandle subscriber)) {
  STALLSCOPE_FIND_REAL(cuptiUnsubscribe, (CUpti_SubscriberHandle));
  const bool noted = Note(return_address);
  const CUptiResult result = real(subscriber);
  if (noted && result == CUPTI_SUCCESS) g_other_clients.Unsubscribed();
  return result;
}

STALLSCOPE_EXPORT(CUptiResult, cuptiActivityRegisterCallbacks,
                  (CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)) {
  STALLSCOPE_FIND_REAL(cuptiActivityRegisterCallbacks,
                       (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc));
  if (LetGo(return_address)) g_other_clients.UsedProcessWide();
  return real(request, complete);
}

STALLSCOPE_EXPORT(CUptiResult, cuptiActivityEnable, (CUpti_ActivityKind kind)) {
  STALLSCOPE_FIND_REAL(cuptiActivityEnable, (CUpti_ActivityKind));
  const bool noted = LetGo(return_address);
  const CUptiResult result = real(kind);
  if (noted && result == CUPTI_SUCCESS) g_other_clients.Enabled(kind);
  return result;
}

STALLSCOPE_EXPORT(CUptiResult, cuptiActivityEnableAndDump, (CUpti_ActivityKind kind)) {
  STALLSCOPE_FIND_REAL(cuptiActivityEnableAndDump, (CUpti_ActivityKind));
  const bool noted = LetGo(return_address);
  const CUptiResult result = real(kind);
  if (noted && result == CUPTI_SUCCESS) g_other_clients.Enabled(kind);
  return result;
}

STALLSCOPE_EXPORT(CUptiResult, cuptiActivityDisable, (CUpti_ActivityKind kind)) {
  STALLSCOPE_FIND_REAL(cuptiActivityDisable, (CUpti_ActivityKind));
  // Ours too would be off: it comes back with everything else that the agent needs.
  if (LetGo(return_address)) g_other_clients.Disabled(kind);
  return real(kind);
}

STALLSCOPE_EXPORT(CUptiResult, cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc callback)) {
  STALLSCOPE_FIND_REAL(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc));
  const bool noted = LetGo(return_address);
  const CUptiResult result = real(callback);
  if (noted && result == CUPTI_SUCCESS) g_other_clients.RegisteredClock();
  return result;
}

STALLSCOPE_EXPORT(CUptiResult, cuptiFinalize, ()) {
  STALLSCOPE_FIND_REAL(cuptiFinalize, ());
  if (LetGo(return_address)) g_other_clients.Finalized();
  return real();
}

}  // namespace stallscope::agent
