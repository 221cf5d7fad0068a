// NVTX ranges without CUPTI: the entry point that NVTX's own header calls in a tool.
//
// Every library that uses NVTX carries its own copy of the header and calls InitializeInjectionNvtx2 once, at its first
// NVTX call, possibly several at the same time. All copies get the same functions, so doing it twice is harmless.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <type_traits>

#include "agent/nvtx/names.h"
#include "agent/nvtx/previous_tool.h"
#include "agent/nvtx/ranges.h"
#include "agent/nvtx/text_ids.h"

namespace stallscope::agent {
namespace {

PreviousHandles g_their_handles;  // domains and registered strings
PreviousHandles g_their_ranges;   // started ranges

// Without another tool a handle is a string id: nothing to look up, nothing to free.
uint32_t IdOfHandle(const void* handle) {
  const auto value = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(handle));
  return static_cast<uint32_t>(FindPreviousTool() == nullptr ? value : g_their_handles.Of(value));
}
template <typename Handle>
Handle HandleOfId(uint32_t id) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(id));
}

// The other tool's function for a slot, or nullptr.
#define STALLSCOPE_CORE(function) \
  g_previous_core.At<std::remove_pointer_t<decltype(&function)>>(NVTX_CBID_CORE_##function)
#define STALLSCOPE_DOMAIN(function) \
  g_previous_domains.At<std::remove_pointer_t<decltype(&function)>>(NVTX_CBID_CORE2_##function)

RangeLabel LabelOf(uint32_t domain, const nvtxEventAttributes_t* event) {
  RangeLabel label;
  label.domain = domain;
  // Structures of other majors are laid out differently; an older minor is shorter, but the message has always been
  // there.
  if (event == nullptr || event->size < offsetof(nvtxEventAttributes_t, message) + sizeof(event->message)) return label;
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      label.text = TextId(event->message.ascii);
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      label.text = WideTextId(event->message.unicode);
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      label.text = IdOfHandle(event->message.registered);
      break;
    default:
      break;
  }
  switch (event->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
      label.number = event->payload.ullValue;
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
    case NVTX_PAYLOAD_TYPE_INT32:
      label.number = event->payload.uiValue;
      break;
    default:
      break;  // floating point numbers have no place in a record
  }
  return label;
}

RangeLabel Ascii(const char* text) { return {0, TextId(text), 0}; }
RangeLabel Wide(const wchar_t* text) { return {0, WideTextId(text), 0}; }

void NVTX_API MarkEx(const nvtxEventAttributes_t* event) {
  RecordMark(LabelOf(0, event));
  if (auto* previous = STALLSCOPE_CORE(MarkEx)) previous(event);
}
void NVTX_API MarkA(const char* text) {
  RecordMark(Ascii(text));
  if (auto* previous = STALLSCOPE_CORE(MarkA)) previous(text);
}
void NVTX_API MarkW(const wchar_t* text) {
  RecordMark(Wide(text));
  if (auto* previous = STALLSCOPE_CORE(MarkW)) previous(text);
}
// Their id where there is another tool, so that it knows its range at the end.
nvtxRangeId_t Started(uint64_t ours, bool has_theirs, nvtxRangeId_t theirs) {
  if (!has_theirs) return ours;
  g_their_ranges.Add(theirs, ours);
  return theirs;
}
uint64_t OursOf(bool has_theirs, nvtxRangeId_t id) { return has_theirs ? g_their_ranges.Take(id) : id; }

nvtxRangeId_t NVTX_API RangeStartEx(const nvtxEventAttributes_t* event) {
  auto* previous = STALLSCOPE_CORE(RangeStartEx);
  return Started(StartRange(LabelOf(0, event)), previous != nullptr, previous != nullptr ? previous(event) : 0);
}
nvtxRangeId_t NVTX_API RangeStartA(const char* text) {
  auto* previous = STALLSCOPE_CORE(RangeStartA);
  return Started(StartRange(Ascii(text)), previous != nullptr, previous != nullptr ? previous(text) : 0);
}
nvtxRangeId_t NVTX_API RangeStartW(const wchar_t* text) {
  auto* previous = STALLSCOPE_CORE(RangeStartW);
  return Started(StartRange(Wide(text)), previous != nullptr, previous != nullptr ? previous(text) : 0);
}
void NVTX_API RangeEnd(nvtxRangeId_t id) {
  auto* previous = STALLSCOPE_CORE(RangeEnd);
  EndRange(OursOf(previous != nullptr, id));
  if (previous != nullptr) previous(id);
}
int NVTX_API RangePushEx(const nvtxEventAttributes_t* event) {
  const int level = PushRange(LabelOf(0, event));
  auto* previous = STALLSCOPE_CORE(RangePushEx);
  return previous != nullptr ? previous(event) : level;
}
int NVTX_API RangePushA(const char* text) {
  const int level = PushRange(Ascii(text));
  auto* previous = STALLSCOPE_CORE(RangePushA);
  return previous != nullptr ? previous(text) : level;
}
int NVTX_API RangePushW(const wchar_t* text) {
  const int level = PushRange(Wide(text));
  auto* previous = STALLSCOPE_CORE(RangePushW);
  return previous != nullptr ? previous(text) : level;
}
int NVTX_API RangePop() {
  const int level = PopRange(0);
  auto* previous = STALLSCOPE_CORE(RangePop);
  return previous != nullptr ? previous() : level;
}

void NVTX_API DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  RecordMark(LabelOf(IdOfHandle(domain), event));
  if (auto* previous = STALLSCOPE_DOMAIN(DomainMarkEx)) previous(domain, event);
}
nvtxRangeId_t NVTX_API DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  auto* previous = STALLSCOPE_DOMAIN(DomainRangeStartEx);
  return Started(StartRange(LabelOf(IdOfHandle(domain), event)), previous != nullptr,
                 previous != nullptr ? previous(domain, event) : 0);
}
void NVTX_API DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  auto* previous = STALLSCOPE_DOMAIN(DomainRangeEnd);
  EndRange(OursOf(previous != nullptr, id));
  if (previous != nullptr) previous(domain, id);
}
int NVTX_API DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const int level = PushRange(LabelOf(IdOfHandle(domain), event));
  auto* previous = STALLSCOPE_DOMAIN(DomainRangePushEx);
  return previous != nullptr ? previous(domain, event) : level;
}
int NVTX_API DomainRangePop(nvtxDomainHandle_t domain) {
  const int level = PopRange(IdOfHandle(domain));
  auto* previous = STALLSCOPE_DOMAIN(DomainRangePop);
  return previous != nullptr ? previous(domain) : level;
}

// A handle of ours, or theirs with ours noted.
template <typename Handle>
Handle Named(uint32_t id, bool has_theirs, Handle theirs) {
  if (!has_theirs) return HandleOfId<Handle>(id);
  g_their_handles.Add(reinterpret_cast<uintptr_t>(theirs), id);
  return theirs;
}
nvtxStringHandle_t NVTX_API DomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  auto* previous = STALLSCOPE_DOMAIN(DomainRegisterStringA);
  return Named<nvtxStringHandle_t>(TextId(text), previous != nullptr,
                                   previous != nullptr ? previous(domain, text) : nullptr);
}
nvtxStringHandle_t NVTX_API DomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  auto* previous = STALLSCOPE_DOMAIN(DomainRegisterStringW);
  return Named<nvtxStringHandle_t>(WideTextId(text), previous != nullptr,
                                   previous != nullptr ? previous(domain, text) : nullptr);
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) {
  auto* previous = STALLSCOPE_DOMAIN(DomainCreateA);
  return Named<nvtxDomainHandle_t>(TextId(name), previous != nullptr, previous != nullptr ? previous(name) : nullptr);
}
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) {
  auto* previous = STALLSCOPE_DOMAIN(DomainCreateW);
  return Named<nvtxDomainHandle_t>(WideTextId(name), previous != nullptr,
                                   previous != nullptr ? previous(name) : nullptr);
}
void NVTX_API DomainDestroy(nvtxDomainHandle_t domain) {
  if (auto* previous = STALLSCOPE_DOMAIN(DomainDestroy)) previous(domain);
}

// A module's table of slots; an older copy of the header has fewer.
class SlotTable {
 public:
  SlotTable(const NvtxExportTableCallbacks* callbacks, NvtxCallbackModule module, PreviousFunctions* previous)
      : previous_(previous) {
    if (callbacks->GetModuleFunctionTable(module, &slots_, &count_) == 0) count_ = 0;
    if (count_ > kNvtxSlots) count_ = kNvtxSlots;
    for (uint32_t i = 0; i < count_; ++i) untouched_[i] = slots_[i] == nullptr ? nullptr : *slots_[i];
  }
  // After the other tool has filled its slots. One that holds another function than in the libraries before stays the
  // other tool's: ours could forward to one function only.
  template <typename Function>
  void Set(uint32_t index, Function* function) {
    if (index >= count_ || slots_[index] == nullptr) return;
    const auto ours = reinterpret_cast<NvtxFunctionPointer>(function);
    NvtxFunctionPointer theirs = *slots_[index];
    if (theirs != untouched_[index] && theirs != ours) {
      NvtxFunctionPointer known = nullptr;
      if (!previous_->slots[index].compare_exchange_strong(known, theirs, std::memory_order_acq_rel) && known != theirs)
        return;
    }
    *slots_[index] = ours;
  }

 private:
  PreviousFunctions* const previous_;
  NvtxFunctionTable slots_ = nullptr;
  unsigned int count_ = 0;
  NvtxFunctionPointer untouched_[kNvtxSlots] = {};
};

}  // namespace
}  // namespace stallscope::agent

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  namespace agent = stallscope::agent;
  if (get_table == nullptr) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  agent::SlotTable core(callbacks, NVTX_CB_MODULE_CORE, &agent::g_previous_core);
  agent::SlotTable domains(callbacks, NVTX_CB_MODULE_CORE2, &agent::g_previous_domains);
  agent::SlotTable driver(callbacks, NVTX_CB_MODULE_CUDA, &agent::g_previous_cuda);
  agent::SlotTable runtime(callbacks, NVTX_CB_MODULE_CUDART, &agent::g_previous_cudart);
  if (const auto previous = agent::FindPreviousTool()) previous(get_table);
  for (const agent::NameFunction& name : agent::kNameFunctions) {
    agent::SlotTable& table = name.module == NVTX_CB_MODULE_CORE   ? core
                              : name.module == NVTX_CB_MODULE_CUDA ? driver
                                                                   : runtime;
    table.Set(name.slot, name.function);
  }
  core.Set(NVTX_CBID_CORE_MarkEx, agent::MarkEx);
  core.Set(NVTX_CBID_CORE_MarkA, agent::MarkA);
  core.Set(NVTX_CBID_CORE_MarkW, agent::MarkW);
  core.Set(NVTX_CBID_CORE_RangeStartEx, agent::RangeStartEx);
  core.Set(NVTX_CBID_CORE_RangeStartA, agent::RangeStartA);
  core.Set(NVTX_CBID_CORE_RangeStartW, agent::RangeStartW);
  core.Set(NVTX_CBID_CORE_RangeEnd, agent::RangeEnd);
  core.Set(NVTX_CBID_CORE_RangePushEx, agent::RangePushEx);
  core.Set(NVTX_CBID_CORE_RangePushA, agent::RangePushA);
  core.Set(NVTX_CBID_CORE_RangePushW, agent::RangePushW);
  core.Set(NVTX_CBID_CORE_RangePop, agent::RangePop);
  domains.Set(NVTX_CBID_CORE2_DomainMarkEx, agent::DomainMarkEx);
  domains.Set(NVTX_CBID_CORE2_DomainRangeStartEx, agent::DomainRangeStartEx);
  domains.Set(NVTX_CBID_CORE2_DomainRangeEnd, agent::DomainRangeEnd);
  domains.Set(NVTX_CBID_CORE2_DomainRangePushEx, agent::DomainRangePushEx);
  domains.Set(NVTX_CBID_CORE2_DomainRangePop, agent::DomainRangePop);
  domains.Set(NVTX_CBID_CORE2_DomainRegisterStringA, agent::DomainRegisterStringA);
  domains.Set(NVTX_CBID_CORE2_DomainRegisterStringW, agent::DomainRegisterStringW);
  domains.Set(NVTX_CBID_CORE2_DomainCreateA, agent::DomainCreateA);
  domains.Set(NVTX_CBID_CORE2_DomainCreateW, agent::DomainCreateW);
  domains.Set(NVTX_CBID_CORE2_DomainDestroy, agent::DomainDestroy);
  return 1;
}
