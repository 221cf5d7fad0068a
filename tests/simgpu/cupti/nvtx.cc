// NVTX as libcupti takes it: a program whose NVTX_INJECTION64_PATH names this library has each of its copies of the NVTX
// headers call InitializeInjectionNvtx2 here. Ranges and marks become MARKER records (two for a range, the name in the
// first), names of threads, devices and streams NAME records, and each call a callback of the NVTX domain.
#include <cupti.h>
#define NVTX_NO_IMPL
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
// After the NVTX headers, whose types its structures use.
#include <generated_nvtx_meta.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <cwchar>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/cupti/activity_functions.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/stamp.h"

struct nvtxDomainRegistration_st {
  const char* name;
};

namespace simgpu::cupti {
namespace {

// Names live as long as the process, one copy each, as CUPTI's do.
const char* Intern(const std::string& text) {
  static auto* mutex = new std::mutex;
  static auto* texts = new std::set<std::string>;
  std::lock_guard lock(*mutex);
  return texts->insert(text).first->c_str();
}
const char* Intern(const char* text) { return Intern(std::string(text == nullptr ? "" : text)); }
const char* Intern(const wchar_t* text) {
  if (text == nullptr) return Intern("");
  std::string narrow(std::wcslen(text) * 4, '\0');
  std::mbstate_t state{};
  const wchar_t* from = text;
  const size_t bytes = std::wcsrtombs(narrow.data(), &from, narrow.size(), &state);
  if (bytes == static_cast<size_t>(-1)) return Intern("?");
  narrow.resize(bytes);
  return Intern(narrow);
}

const char* MessageOf(const nvtxEventAttributes_t* event) {
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return Intern(event->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return Intern(event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return reinterpret_cast<const char*>(event->message.registered);  // a handle is the interned name
    default:
      return Intern("");
  }
}

const char* NameOf(nvtxDomainHandle_t domain) {
  return domain == nullptr ? nullptr : reinterpret_cast<const nvtxDomainRegistration_st*>(domain)->name;
}

std::atomic<uint32_t> next_marker_id{1};

void WriteMarker(uint32_t flags, uint32_t id, const char* name, const char* domain) {
  CUpti_ActivityMarker2 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = static_cast<CUpti_ActivityFlag>(flags);
  record.timestamp = StampNow();
  record.id = id;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.objectId.pt.threadId = ThreadId();
  record.name = name;
  record.domain = domain;
  Clients::Get().Each([&record](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_MARKER)) client.Write(record);
  });
}

void WriteMarkerData(uint32_t id, const nvtxEventAttributes_t* event) {
  if (event == nullptr || !Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_MARKER_DATA)) return;
  CUpti_ActivityMarkerData2 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_MARKER_DATA;
  record.id = id;
  record.category = event->category;
  if (event->colorType != NVTX_COLOR_UNKNOWN) {
    record.flags = CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB;
    record.color = event->color;
  }
  if (event->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE) {
    record.payloadKind = CUPTI_METRIC_VALUE_KIND_DOUBLE;
    record.payload.metricValueDouble = event->payload.dValue;
  } else if (event->payloadType != NVTX_PAYLOAD_UNKNOWN) {
    record.payloadKind = CUPTI_METRIC_VALUE_KIND_UINT64;
    record.payload.metricValueUint64 = event->payload.ullValue;
  }
  Clients::Get().Each([&record](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_MARKER_DATA)) client.Write(record);
  });
}

uint32_t Mark(const char* name, const char* domain, const nvtxEventAttributes_t* event) {
  const uint32_t id = next_marker_id.fetch_add(1, std::memory_order_relaxed);
  WriteMarker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, id, name, domain);
  WriteMarkerData(id, event);
  return id;
}
uint32_t Start(const char* name, const char* domain, const nvtxEventAttributes_t* event) {
  const uint32_t id = next_marker_id.fetch_add(1, std::memory_order_relaxed);
  WriteMarker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, name, domain);
  WriteMarkerData(id, event);
  return id;
}
void End(uint32_t id, const char* domain) { WriteMarker(CUPTI_ACTIVITY_FLAG_MARKER_END, id, nullptr, domain); }

// Ranges of this thread that are open, innermost last; each domain has levels of its own.
struct Open {
  uint32_t id;
  const char* domain;
};
thread_local std::vector<Open> open_ranges;

int Push(const char* name, const char* domain, const nvtxEventAttributes_t* event) {
  int level = 0;
  for (const Open& open : open_ranges) level += open.domain == domain ? 1 : 0;
  open_ranges.push_back({Start(name, domain, event), domain});
  return level;
}
int Pop(const char* domain) {
  for (auto open = open_ranges.rbegin(); open != open_ranges.rend(); ++open) {
    if (open->domain != domain) continue;
    End(open->id, domain);
    open_ranges.erase(std::next(open).base());
    int level = 0;
    for (const Open& rest : open_ranges) level += rest.domain == domain ? 1 : 0;
    return level;
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

void WriteName(CUpti_ActivityObjectKind object, CUpti_ActivityObjectKindId id, const char* name) {
  CUpti_ActivityName record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_NAME;
  record.objectKind = object;
  record.objectId = id;
  record.name = name;
  Clients::Get().Each([&record](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_NAME)) client.Write(record);
  });
}

void Say(uint32_t cbid, const char* function, const void* params, const void* result) {
  CUpti_NvtxData data{};
  data.functionName = function;
  data.functionParams = params;
  data.functionReturnValue = result;
  Clients::Get().Each([cbid, &data](Client& client) { client.Call(CUPTI_CB_DOMAIN_NVTX, cbid, &data); });
}

#define SIMGPU_SAY(function, result, ...)      \
  const function##_params params{__VA_ARGS__}; \
  Say(CUPTI_CBID_NVTX_##function, #function, &params, result)

void MarkA(const char* message) {
  Mark(Intern(message), nullptr, nullptr);
  SIMGPU_SAY(nvtxMarkA, nullptr, message);
}
void MarkW(const wchar_t* message) {
  Mark(Intern(message), nullptr, nullptr);
  SIMGPU_SAY(nvtxMarkW, nullptr, message);
}
void MarkEx(const nvtxEventAttributes_t* event) {
  Mark(MessageOf(event), nullptr, event);
  SIMGPU_SAY(nvtxMarkEx, nullptr, event);
}
nvtxRangeId_t RangeStartA(const char* message) {
  const nvtxRangeId_t id = Start(Intern(message), nullptr, nullptr);
  SIMGPU_SAY(nvtxRangeStartA, &id, message);
  return id;
}
nvtxRangeId_t RangeStartW(const wchar_t* message) {
  const nvtxRangeId_t id = Start(Intern(message), nullptr, nullptr);
  SIMGPU_SAY(nvtxRangeStartW, &id, message);
  return id;
}
nvtxRangeId_t RangeStartEx(const nvtxEventAttributes_t* event) {
  const nvtxRangeId_t id = Start(MessageOf(event), nullptr, event);
  SIMGPU_SAY(nvtxRangeStartEx, &id, event);
  return id;
}
void RangeEnd(nvtxRangeId_t id) {
  End(static_cast<uint32_t>(id), nullptr);
  SIMGPU_SAY(nvtxRangeEnd, nullptr, id);
}
int RangePushA(const char* message) {
  const int level = Push(Intern(message), nullptr, nullptr);
  SIMGPU_SAY(nvtxRangePushA, &level, message);
  return level;
}
int RangePushW(const wchar_t* message) {
  const int level = Push(Intern(message), nullptr, nullptr);
  SIMGPU_SAY(nvtxRangePushW, &level, message);
  return level;
}
int RangePushEx(const nvtxEventAttributes_t* event) {
  const int level = Push(MessageOf(event), nullptr, event);
  SIMGPU_SAY(nvtxRangePushEx, &level, event);
  return level;
}
int RangePop() {
  const int level = Pop(nullptr);
  SIMGPU_SAY(nvtxRangePop, &level, nullptr);
  return level;
}

void NameOsThreadA(uint32_t thread, const char* name) {
  CUpti_ActivityObjectKindId id{};
  id.pt.processId = static_cast<uint32_t>(getpid());
  id.pt.threadId = thread;
  WriteName(CUPTI_ACTIVITY_OBJECT_THREAD, id, Intern(name));
  SIMGPU_SAY(nvtxNameOsThreadA, nullptr, thread, name);
}
void NameCudaDeviceA(int device, const char* name) {
  CUpti_ActivityObjectKindId id{};
  id.dcs.deviceId = static_cast<uint32_t>(device);
  WriteName(CUPTI_ACTIVITY_OBJECT_DEVICE, id, Intern(name));
  SIMGPU_SAY(nvtxNameCudaDeviceA, nullptr, device, name);
}
void NameCudaStreamA(cudaStream_t stream, const char* name) {
  CUpti_ActivityObjectKindId id{};
  id.dcs.deviceId = static_cast<uint32_t>(CurrentOrdinal());
  id.dcs.contextId = CurrentDevice()->context_id();
  id.dcs.streamId = StreamOf(stream)->id();
  WriteName(CUPTI_ACTIVITY_OBJECT_STREAM, id, Intern(name));
  SIMGPU_SAY(nvtxNameCudaStreamA, nullptr, stream, name);
}

void DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  Mark(MessageOf(event), NameOf(domain), event);
  SIMGPU_SAY(nvtxDomainMarkEx, nullptr, domain, {event});
}
nvtxRangeId_t DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const nvtxRangeId_t id = Start(MessageOf(event), NameOf(domain), event);
  SIMGPU_SAY(nvtxDomainRangeStartEx, &id, domain, {event});
  return id;
}
void DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  End(static_cast<uint32_t>(id), NameOf(domain));
  SIMGPU_SAY(nvtxDomainRangeEnd, nullptr, domain, {id});
}
int DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const int level = Push(MessageOf(event), NameOf(domain), event);
  SIMGPU_SAY(nvtxDomainRangePushEx, &level, domain, {event});
  return level;
}
int DomainRangePop(nvtxDomainHandle_t domain) {
  const int level = Pop(NameOf(domain));
  SIMGPU_SAY(nvtxDomainRangePop, &level, domain);
  return level;
}
nvtxStringHandle_t DomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  const auto handle = reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(Intern(text)));
  SIMGPU_SAY(nvtxDomainRegisterStringA, &handle, domain, text);
  return handle;
}
nvtxDomainHandle_t DomainCreateA(const char* name) {
  const auto handle = reinterpret_cast<nvtxDomainHandle_t>(new nvtxDomainRegistration_st{Intern(name)});
  SIMGPU_SAY(nvtxDomainCreateA, &handle, name);
  return handle;
}
nvtxDomainHandle_t DomainCreateW(const wchar_t* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new nvtxDomainRegistration_st{Intern(name)});
}
void DomainDestroy(nvtxDomainHandle_t domain) {
  SIMGPU_SAY(nvtxDomainDestroy, nullptr, domain);  // its name stays, since records point at it
}

// Puts our functions into a module's table of the program's copy of the headers; older headers have shorter tables.
class Table {
 public:
  Table(const NvtxExportTableCallbacks* callbacks, NvtxCallbackModule module) {
    if (callbacks->GetModuleFunctionTable(module, &table_, &entries_) == 0) entries_ = 0;
  }
  template <typename Function>
  void Set(unsigned id, Function* function) {
    if (id < entries_ && table_[id] != nullptr) *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned entries_ = 0;
};

void FillTables(const NvtxExportTableCallbacks* callbacks) {
  Table core(callbacks, NVTX_CB_MODULE_CORE);
  core.Set(NVTX_CBID_CORE_MarkEx, MarkEx);
  core.Set(NVTX_CBID_CORE_MarkA, MarkA);
  core.Set(NVTX_CBID_CORE_MarkW, MarkW);
  core.Set(NVTX_CBID_CORE_RangeStartEx, RangeStartEx);
  core.Set(NVTX_CBID_CORE_RangeStartA, RangeStartA);
  core.Set(NVTX_CBID_CORE_RangeStartW, RangeStartW);
  core.Set(NVTX_CBID_CORE_RangeEnd, RangeEnd);
  core.Set(NVTX_CBID_CORE_RangePushEx, RangePushEx);
  core.Set(NVTX_CBID_CORE_RangePushA, RangePushA);
  core.Set(NVTX_CBID_CORE_RangePushW, RangePushW);
  core.Set(NVTX_CBID_CORE_RangePop, RangePop);
  core.Set(NVTX_CBID_CORE_NameOsThreadA, NameOsThreadA);
  Table core2(callbacks, NVTX_CB_MODULE_CORE2);
  core2.Set(NVTX_CBID_CORE2_DomainMarkEx, DomainMarkEx);
  core2.Set(NVTX_CBID_CORE2_DomainRangeStartEx, DomainRangeStartEx);
  core2.Set(NVTX_CBID_CORE2_DomainRangeEnd, DomainRangeEnd);
  core2.Set(NVTX_CBID_CORE2_DomainRangePushEx, DomainRangePushEx);
  core2.Set(NVTX_CBID_CORE2_DomainRangePop, DomainRangePop);
  core2.Set(NVTX_CBID_CORE2_DomainRegisterStringA, DomainRegisterStringA);
  core2.Set(NVTX_CBID_CORE2_DomainCreateA, DomainCreateA);
  core2.Set(NVTX_CBID_CORE2_DomainCreateW, DomainCreateW);
  core2.Set(NVTX_CBID_CORE2_DomainDestroy, DomainDestroy);
  Table cudart(callbacks, NVTX_CB_MODULE_CUDART);
  cudart.Set(NVTX_CBID_CUDART_NameCudaDeviceA, NameCudaDeviceA);
  cudart.Set(NVTX_CBID_CUDART_NameCudaStreamA, NameCudaStreamA);
}

}  // namespace
}  // namespace simgpu::cupti

// Once for each library or program that holds a copy of the NVTX headers, possibly from several threads.
SIMGPU_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  simgpu::cupti::FillTables(callbacks);
  return 1;
}
