#include "tests/simgpu/core/work.h"

#include <algorithm>
#include <cstring>

namespace simgpu {
namespace {

void LookUpDuration(const Kernel& kernel, const Config& config) {
  double base_ns = static_cast<double>(config.kernel_ns);
  double per_block_ns = 0;
  for (const KernelRule& rule : config.kernel_rules) {
    if (kernel.name.find(rule.name_part) == std::string::npos) continue;
    base_ns = rule.base_ns;
    per_block_ns = rule.per_block_ns;
    break;
  }
  kernel.per_block_ns.store(per_block_ns, std::memory_order_relaxed);
  // Pairs with the acquire in KernelNs: who sees the base sees the slope.
  kernel.base_ns.store(base_ns, std::memory_order_release);
}

uint64_t AtLeastOne(double ns) { return ns < 1 ? 1 : static_cast<uint64_t>(ns); }

uint64_t KernelNs(const KernelWork& work, const Config& config) {
  double base_ns = work.kernel->base_ns.load(std::memory_order_acquire);
  if (base_ns < 0) {
    LookUpDuration(*work.kernel, config);
    base_ns = work.kernel->base_ns.load(std::memory_order_acquire);
  }
  const double per_block_ns = work.kernel->per_block_ns.load(std::memory_order_relaxed);
  return AtLeastOne(base_ns + per_block_ns * static_cast<double>(work.grid.Count()));
}

double CopyGbPerSecond(const CopyWork& copy, const Config& config) {
  const bool pageable = copy.source_kind == MemoryKind::kPageable || copy.destination_kind == MemoryKind::kPageable;
  if (pageable) return config.pageable_gb_per_s;
  if (copy.PeerToPeer()) return config.peer_gb_per_s;
  if (OnHost(copy.source_kind) || OnHost(copy.destination_kind)) return config.pinned_gb_per_s;
  return config.device_gb_per_s;
}

// One GB/s is one byte a nanosecond.
uint64_t TransferNs(uint64_t base_ns, uint64_t bytes, double gb_per_s) {
  return AtLeastOne(static_cast<double>(base_ns) + static_cast<double>(bytes) / gb_per_s);
}

void CopySlice(const CopyWork& copy, char* destination, const char* source) {
  const bool flat =
      copy.rows <= 1 || (copy.destination_pitch == copy.width_bytes && copy.source_pitch == copy.width_bytes);
  if (flat) {
    std::memmove(destination, source, copy.width_bytes * copy.rows);
    return;
  }
  for (size_t row = 0; row < copy.rows; ++row) {
    std::memmove(destination + row * copy.destination_pitch, source + row * copy.source_pitch, copy.width_bytes);
  }
}

void Copy(const CopyWork& copy) {
  for (size_t slice = 0; slice < copy.slices; ++slice) {
    CopySlice(copy, static_cast<char*>(copy.destination) + slice * copy.destination_slice_pitch,
              static_cast<const char*>(copy.source) + slice * copy.source_slice_pitch);
  }
}

void FillRow(const FillWork& fill, char* row, uint64_t bytes) {
  if (fill.element_bytes == 1) {
    FillBytes(row, static_cast<uint8_t>(fill.value), bytes, !OnHost(fill.kind));
  } else if (fill.value == 0) {
    FillBytes(row, 0, bytes, !OnHost(fill.kind));
  } else {
    for (uint64_t at = 0; at + fill.element_bytes <= bytes; at += fill.element_bytes) {
      std::memcpy(row + at, &fill.value, fill.element_bytes);  // little endian, as the device
    }
  }
}

void Fill(const FillWork& fill) {
  if (fill.rows <= 1 || fill.pitch == fill.width_bytes) {
    FillRow(fill, static_cast<char*>(fill.destination), fill.Bytes());
    return;
  }
  for (size_t row = 0; row < fill.rows; ++row) {
    FillRow(fill, static_cast<char*>(fill.destination) + row * fill.pitch, fill.width_bytes);
  }
}

}  // namespace

bool OnHost(MemoryKind kind) { return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned; }

bool CopyWork::PeerToPeer() const {
  return source_kind == MemoryKind::kDevice && destination_kind == MemoryKind::kDevice &&
         source_device != destination_device;
}

Engine EngineOf(const Work& work) {
  const auto* copy = std::get_if<CopyWork>(&work);
  if (copy != nullptr && copy->PeerToPeer()) return Engine::kPeer;
  if (copy == nullptr || OnHost(copy->source_kind) == OnHost(copy->destination_kind)) return Engine::kNone;
  return OnHost(copy->source_kind) ? Engine::kHostToDevice : Engine::kDeviceToHost;
}

uint64_t DurationNs(const Work& work, const Config& config) {
  if (const auto* kernel = std::get_if<KernelWork>(&work)) return KernelNs(*kernel, config);
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    return TransferNs(config.copy_base_ns, copy->Bytes(), CopyGbPerSecond(*copy, config));
  }
  if (const auto* fill = std::get_if<FillWork>(&work)) {
    return TransferNs(config.memset_base_ns, fill->Bytes(), config.device_gb_per_s);
  }
  if (std::holds_alternative<HostWork>(work)) return AtLeastOne(static_cast<double>(config.host_function_ns));
  return 0;
}

void MoveBytes(const Work& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    Copy(*copy);
  } else if (const auto* fill = std::get_if<FillWork>(&work)) {
    Fill(*fill);
  }
}

}  // namespace simgpu
