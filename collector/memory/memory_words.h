// What people are told about operations on memory and the loading of code: one word or phrase for each number of the wire.
#pragma once

#include <cstdint>

#include "proto/wire/calls.h"

namespace stallscope {

constexpr const char* MemoryOperationName(wire::MemoryOperation operation) {
  switch (operation) {
    case wire::MemoryOperation::kAllocate:
      return "allocate";
    case wire::MemoryOperation::kRelease:
      return "release";
    case wire::MemoryOperation::kRegister:
      return "register";
    case wire::MemoryOperation::kUnregister:
      return "unregister";
    case wire::MemoryOperation::kPoolCreate:
      return "pool_create";
    case wire::MemoryOperation::kPoolDestroy:
      return "pool_destroy";
    case wire::MemoryOperation::kPoolTrim:
      return "pool_trim";
    case wire::MemoryOperation::kPoolState:
      return "pool_state";
    case wire::MemoryOperation::kMigrateToDevice:
      return "migrate_to_device";
    case wire::MemoryOperation::kMigrateToHost:
      return "migrate_to_host";
    case wire::MemoryOperation::kMigrateBetweenDevices:
      return "migrate_between_devices";
    case wire::MemoryOperation::kCpuFaults:
      return "cpu_faults";
    case wire::MemoryOperation::kGpuFaults:
      return "gpu_faults";
    case wire::MemoryOperation::kThrashing:
      return "thrashing";
    case wire::MemoryOperation::kThrottling:
      return "throttling";
    case wire::MemoryOperation::kRemoteMap:
      return "remote_map";
  }
  return "unknown";
}

// By CUPTI's CUpti_ActivityMemoryKind.
enum class MemoryKind : uint8_t {
  kUnknown = 0,
  kPageable,
  kPinned,
  kDevice,
  kArray,
  kManaged,
  kDeviceStatic,
  kManagedStatic
};
inline constexpr int kMemoryKinds = 8;
constexpr const char* MemoryKindName(uint8_t kind) {
  constexpr const char* kNames[kMemoryKinds] = {"unknown", "pageable", "pinned",        "device",
                                                "array",   "managed",  "device_static", "managed_static"};
  return kind < kMemoryKinds ? kNames[kind] : "unknown";
}

inline constexpr int kCodeLoadKinds = 7;
constexpr const char* CodeLoadName(wire::CodeLoadKind kind) {
  switch (kind) {
    case wire::CodeLoadKind::kModule:
      return "loading a module";
    case wire::CodeLoadKind::kLazyFunction:
      return "loading a function at its first use";
    case wire::CodeLoadKind::kJitCompile:
      return "compiling PTX";
    case wire::CodeLoadKind::kJitCacheLoad:
      return "loading compiled code from the cache";
    case wire::CodeLoadKind::kJitCacheStore:
      return "storing compiled code in the cache";
    case wire::CodeLoadKind::kCompiler:
      return "the driver's compiler";
  }
  return "the first launch of a kernel";
}

}  // namespace stallscope
