#include "tests/simgpu/cupti/switches.h"

#include <algorithm>

#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/hooks.h"

namespace simgpu::cupti {
namespace {

// The one subscriber's handle: only its value matters.
int subscriber_tag;
CUpti_SubscriberHandle TheSubscriber() { return reinterpret_cast<CUpti_SubscriberHandle>(&subscriber_tag); }

}  // namespace

Switches& Switches::Get() {
  static auto* switches = new Switches;
  return *switches;
}

void Switches::Connect() {
  const auto any = [](const Flags& flags) {
    for (const auto& domain : flags) {
      if (std::any_of(std::begin(domain), std::end(domain), [](const auto& flag) { return flag.load() != 0; })) {
        return true;
      }
    }
    return false;
  };
  const bool wanted = kinds_.load() != 0 || any(api_records_) || (callback_.load() != nullptr && any(callbacks_));
  ConnectHooks(wanted);
}

void Switches::SetKind(uint32_t kind, bool on) {
  if (on) {
    kinds_.fetch_or(uint64_t{1} << kind);
  } else {
    kinds_.fetch_and(~(uint64_t{1} << kind));
  }
  const uint32_t domain = kind == CUPTI_ACTIVITY_KIND_RUNTIME  ? CUPTI_CB_DOMAIN_RUNTIME_API
                          : kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API
                                                               : CUPTI_CB_DOMAIN_INVALID;
  if (domain != CUPTI_CB_DOMAIN_INVALID) {
    for (auto& flag : api_records_[domain]) flag.store(on ? 1 : 0, std::memory_order_relaxed);
  }
  Connect();
}

void Switches::SetApiRecord(uint32_t domain, uint32_t cbid, bool on) {
  if (domain < kDomains && cbid < kMaxFunctions) api_records_[domain][cbid].store(on ? 1 : 0);
  Connect();
}

void Switches::SetCallback(uint32_t domain, uint32_t cbid, bool on) {
  if (domain < kDomains && cbid < kMaxFunctions) callbacks_[domain][cbid].store(on ? 1 : 0);
  Connect();
}

void Switches::SetDomain(uint32_t domain, bool on) {
  if (domain < kDomains) {
    for (auto& flag : callbacks_[domain]) flag.store(on ? 1 : 0, std::memory_order_relaxed);
  }
  Connect();
}

CUptiResult Switches::Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data,
                                const char* name) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (ActiveFault() == Fault::kNoDriver) return CUPTI_ERROR_UNKNOWN;
  if (ActiveFault() == Fault::kBusy) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  std::lock_guard lock(mutex_);
  if (callback_.load() != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  // A subscriber may have no callback (it only wants to own CUPTI): keep one that does nothing.
  if (function == nullptr) function = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  user_data_.store(data);
  callback_.store(function, std::memory_order_release);
  name_ = name == nullptr ? "" : name;
  *subscriber = TheSubscriber();
  return CUPTI_SUCCESS;
}

CUptiResult Switches::Unsubscribe(CUpti_SubscriberHandle subscriber) {
  if (!IsSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  {
    std::lock_guard lock(mutex_);
    callback_.store(nullptr);
    name_.clear();
  }
  for (uint32_t domain = 0; domain < kDomains; ++domain) SetDomain(domain, false);
  return CUPTI_SUCCESS;
}

bool Switches::IsSubscriber(CUpti_SubscriberHandle subscriber) const {
  return subscriber == TheSubscriber() && callback_.load() != nullptr;
}

std::string Switches::SubscriberName() {
  if (ActiveFault() == Fault::kBusy) return "nsys";
  std::lock_guard lock(mutex_);
  return name_;
}

}  // namespace simgpu::cupti
