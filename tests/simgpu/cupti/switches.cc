#include "tests/simgpu/cupti/switches.h"

namespace simgpu::cupti {

void Switches::Set(Flags* flags, uint32_t domain, uint32_t cbid, bool on) {
  if (domain >= kDomains || cbid >= kMaxFunctions) return;
  const uint8_t before = flags->on[domain][cbid].exchange(on ? 1 : 0);
  if (before == 0 && on) flags->count[domain].fetch_add(1);
  if (before != 0 && !on) flags->count[domain].fetch_sub(1);
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
  if (domain == CUPTI_CB_DOMAIN_INVALID) return;
  for (uint32_t cbid = 0; cbid < kMaxFunctions; ++cbid) Set(&api_records_, domain, cbid, on);
}

void Switches::SetApiRecord(uint32_t domain, uint32_t cbid, bool on) { Set(&api_records_, domain, cbid, on); }

void Switches::SetCallback(uint32_t domain, uint32_t cbid, bool on) { Set(&callbacks_, domain, cbid, on); }

void Switches::SetDomain(uint32_t domain, bool on) {
  for (uint32_t cbid = 0; cbid < kMaxFunctions; ++cbid) Set(&callbacks_, domain, cbid, on);
}

}  // namespace simgpu::cupti
