#include "tests/simgpu/cupti/activity_functions.h"

#include <cstring>

#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/layout.h"

namespace simgpu::cupti {
namespace {

bool KnownKind(CUpti_ActivityKind kind) { return ActiveLayout().RecordBytes(static_cast<uint32_t>(kind)) != 0; }

}  // namespace

CUptiResult EnableKind(Client* client, CUpti_ActivityKind kind) {
  if (FaultOn(Fault::kNoDriver)) return CUPTI_ERROR_UNKNOWN;
  if (!KnownKind(kind)) return CUPTI_ERROR_INVALID_KIND;
  if (FaultOn(Fault::kNoGraphTrace) && kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) return CUPTI_ERROR_NOT_COMPATIBLE;
  client->switches.SetKind(kind, true);
  Clients::Get().Connect();
  return CUPTI_SUCCESS;
}

CUptiResult EnableKindAndDump(Client* client, CUpti_ActivityKind kind) {
  const CUptiResult result = EnableKind(client, kind);
  if (result != CUPTI_SUCCESS) return result;
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) DumpDevices(client);
  if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) DumpContexts(client);
  if (kind == CUPTI_ACTIVITY_KIND_STREAM) DumpStreams(client);
  return CUPTI_SUCCESS;
}

CUptiResult DisableKind(Client* client, CUpti_ActivityKind kind) {
  if (!KnownKind(kind)) return CUPTI_ERROR_INVALID_KIND;
  client->switches.SetKind(kind, false);
  Clients::Get().Connect();
  return CUPTI_SUCCESS;
}

CUptiResult SetApiRecord(Client* client, uint32_t domain, CUpti_CallbackId cbid, uint8_t enable) {
  if (cbid >= kMaxFunctions) return CUPTI_ERROR_INVALID_PARAMETER;
  client->switches.SetApiRecord(domain, cbid, enable != 0);
  Clients::Get().Connect();
  return CUPTI_SUCCESS;
}

CUptiResult SetAttribute(Client* client, CUpti_ActivityAttribute attribute, size_t* bytes, const void* value) {
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto* begin = static_cast<const uint8_t*>(value);
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) client->buffers.SetPerThread(*begin != 0);
  std::lock_guard lock(client->attributes_mutex);
  client->attributes[attribute].assign(begin, begin + *bytes);
  return CUPTI_SUCCESS;
}

CUptiResult GetAttribute(Client* client, CUpti_ActivityAttribute attribute, size_t* bytes, void* value) {
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memset(value, 0, *bytes);
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    *static_cast<uint8_t*>(value) = client->buffers.per_thread() ? 1 : 0;
    return CUPTI_SUCCESS;
  }
  std::lock_guard lock(client->attributes_mutex);
  const auto found = client->attributes.find(attribute);
  if (found == client->attributes.end()) return CUPTI_SUCCESS;
  if (*bytes < found->second.size()) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::memcpy(value, found->second.data(), found->second.size());
  return CUPTI_SUCCESS;
}

}  // namespace simgpu::cupti
