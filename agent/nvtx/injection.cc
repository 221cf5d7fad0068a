// NVTX ranges without CUPTI: the entry point that NVTX's own header calls in a tool.
//
// Every library that uses NVTX carries its own copy of the header and calls InitializeInjectionNvtx2 once, at its first
// NVTX call, possibly several at the same time. All copies get the same functions, so doing it twice is harmless.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>

#include "agent/nvtx/ranges.h"
#include "agent/nvtx/text_ids.h"

namespace stallscope::agent {
namespace {

// A domain's or a registered string's handle is its string id: nothing to look up, nothing to free.
uint32_t IdOfHandle(const void* handle) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)); }
template <typename Handle>
Handle HandleOfId(uint32_t id) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(id));
}

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

void NVTX_API MarkEx(const nvtxEventAttributes_t* event) { RecordMark(LabelOf(0, event)); }
void NVTX_API MarkA(const char* text) { RecordMark(Ascii(text)); }
void NVTX_API MarkW(const wchar_t* text) { RecordMark(Wide(text)); }
nvtxRangeId_t NVTX_API RangeStartEx(const nvtxEventAttributes_t* event) { return StartRange(LabelOf(0, event)); }
nvtxRangeId_t NVTX_API RangeStartA(const char* text) { return StartRange(Ascii(text)); }
nvtxRangeId_t NVTX_API RangeStartW(const wchar_t* text) { return StartRange(Wide(text)); }
void NVTX_API RangeEnd(nvtxRangeId_t id) { EndRange(id); }
int NVTX_API RangePushEx(const nvtxEventAttributes_t* event) { return PushRange(LabelOf(0, event)); }
int NVTX_API RangePushA(const char* text) { return PushRange(Ascii(text)); }
int NVTX_API RangePushW(const wchar_t* text) { return PushRange(Wide(text)); }
int NVTX_API RangePop() { return PopRange(0); }

void NVTX_API DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  RecordMark(LabelOf(IdOfHandle(domain), event));
}
nvtxRangeId_t NVTX_API DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return StartRange(LabelOf(IdOfHandle(domain), event));
}
void NVTX_API DomainRangeEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { EndRange(id); }
int NVTX_API DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return PushRange(LabelOf(IdOfHandle(domain), event));
}
int NVTX_API DomainRangePop(nvtxDomainHandle_t domain) { return PopRange(IdOfHandle(domain)); }
nvtxStringHandle_t NVTX_API DomainRegisterStringA(nvtxDomainHandle_t, const char* text) {
  return HandleOfId<nvtxStringHandle_t>(TextId(text));
}
nvtxStringHandle_t NVTX_API DomainRegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  return HandleOfId<nvtxStringHandle_t>(WideTextId(text));
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) { return HandleOfId<nvtxDomainHandle_t>(TextId(name)); }
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) {
  return HandleOfId<nvtxDomainHandle_t>(WideTextId(name));
}
void NVTX_API DomainDestroy(nvtxDomainHandle_t) {}

// A module's table of slots; an older copy of the header has fewer.
class SlotTable {
 public:
  SlotTable(const NvtxExportTableCallbacks* callbacks, NvtxCallbackModule module) {
    if (callbacks->GetModuleFunctionTable(module, &slots_, &count_) == 0) count_ = 0;
  }
  template <typename Function>
  void Set(uint32_t index, Function* function) {
    if (index < count_ && slots_[index] != nullptr) *slots_[index] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable slots_ = nullptr;
  unsigned int count_ = 0;
};

}  // namespace
}  // namespace stallscope::agent

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  namespace agent = stallscope::agent;
  if (get_table == nullptr) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  agent::SlotTable core(callbacks, NVTX_CB_MODULE_CORE);
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
  agent::SlotTable domains(callbacks, NVTX_CB_MODULE_CORE2);
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
