#include "tests/simgpu/cupti/layout.h"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "tests/simgpu/core/simulator.h"

namespace simgpu::cupti {
namespace {

struct Stride {
  uint8_t kind;
  uint8_t bytes;
  uint8_t first, last;  // versions
};
// Measured by walking a buffer with each real cuptiActivityGetNextRecord. Kinds that are not listed are invalid to it.
constexpr Stride kStrides[] = {
    {1, 88, 0, 3},  {1, 96, 4, 6},   {2, 88, 0, 6},   {3, 200, 0, 0},  {3, 208, 1, 5},  {3, 216, 6, 6},
    {4, 40, 0, 6},  {5, 40, 0, 6},   {6, 24, 0, 5},   {7, 24, 0, 5},   {8, 176, 0, 1},  {8, 184, 2, 6},
    {9, 16, 0, 1},  {9, 24, 2, 2},   {9, 32, 3, 6},   {10, 200, 0, 0}, {10, 208, 1, 5}, {10, 216, 6, 6},
    {11, 32, 0, 6}, {12, 56, 0, 6},  {13, 32, 0, 5},  {13, 40, 6, 6},  {14, 24, 0, 5},  {15, 56, 0, 5},
    {16, 40, 0, 5}, {17, 40, 0, 1},  {17, 56, 2, 6},  {18, 144, 0, 6}, {19, 40, 0, 6},  {20, 40, 0, 6},
    {21, 32, 0, 5}, {22, 96, 0, 6},  {23, 32, 0, 5},  {24, 48, 0, 5},  {25, 64, 0, 3},  {25, 104, 4, 6},
    {26, 32, 0, 6}, {27, 24, 0, 6},  {28, 24, 0, 6},  {29, 56, 0, 5},  {30, 40, 0, 5},  {31, 32, 0, 5},
    {32, 24, 0, 5}, {33, 152, 0, 6}, {34, 152, 0, 6}, {35, 120, 0, 6}, {36, 24, 0, 3},  {36, 56, 4, 6},
    {37, 24, 0, 6}, {38, 40, 0, 3},  {38, 56, 4, 6},  {39, 24, 0, 6},  {40, 136, 0, 6}, {41, 32, 0, 5},
    {42, 32, 0, 5}, {43, 32, 0, 5},  {44, 32, 0, 5},  {45, 80, 0, 6},  {46, 168, 0, 6}, {47, 40, 0, 6},
    {48, 40, 0, 6}, {49, 120, 0, 2}, {49, 128, 3, 6}, {50, 72, 0, 5},  {50, 80, 6, 6},  {51, 48, 0, 1},
    {51, 56, 2, 6}, {52, 64, 0, 1},  {52, 72, 2, 6},  {53, 56, 4, 6},  {54, 64, 4, 6},  {55, 32, 5, 6},
};
// What cuptiGetVersion of the library with these layouts says; several releases share 18.
constexpr uint32_t kApiVersions[kVersionCount] = {18, 18, 22, 24, 26, 28, 130001};

struct StructureKinds {
  const char* name;
  uint32_t kinds[4];
};
constexpr StructureKinds kStructureKinds[] = {
    {"MEMCPY", {CUPTI_ACTIVITY_KIND_MEMCPY}},
    {"MEMSET", {CUPTI_ACTIVITY_KIND_MEMSET}},
    {"CONCURRENT_KERNEL", {CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}},
    {"RUNTIME", {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API}},
    {"DEVICE", {CUPTI_ACTIVITY_KIND_DEVICE}},
    {"CONTEXT", {CUPTI_ACTIVITY_KIND_CONTEXT}},
    {"NAME", {CUPTI_ACTIVITY_KIND_NAME}},
    {"MARKER", {CUPTI_ACTIVITY_KIND_MARKER}},
    {"MARKER_DATA", {CUPTI_ACTIVITY_KIND_MARKER_DATA}},
    {"OVERHEAD", {CUPTI_ACTIVITY_KIND_OVERHEAD}},
    {"MEMCPY2", {CUPTI_ACTIVITY_KIND_MEMCPY2}},
    {"CUDA_EVENT", {CUPTI_ACTIVITY_KIND_CUDA_EVENT}},
    {"STREAM", {CUPTI_ACTIVITY_KIND_STREAM}},
    {"SYNCHRONIZATION", {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}},
    {"EXTERNAL_CORRELATION", {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}},
    {"MEMORY2", {CUPTI_ACTIVITY_KIND_MEMORY2}},
    {"MEMORY_POOL", {CUPTI_ACTIVITY_KIND_MEMORY_POOL}},
    {"GRAPH_TRACE", {CUPTI_ACTIVITY_KIND_GRAPH_TRACE}},
    {"JIT", {CUPTI_ACTIVITY_KIND_JIT}},
};

constexpr uint8_t VersionIndex(std::string_view version) {
  for (int i = 0; i < kVersionCount; ++i) {
    if (version == kVersions[i]) return static_cast<uint8_t>(i);
  }
  return 255;
}

std::array<Layout, kVersionCount> MakeLayouts() {
  std::array<Layout, kVersionCount> layouts{};
  for (int version = 0; version < kVersionCount; ++version) {
    Layout& layout = layouts[static_cast<size_t>(version)];
    layout.cuda_version = kVersions[version];
    layout.api_version = kApiVersions[version];
    layout.per_thread_buffers_default = layout.api_version >= 130000;
    layout.invalid_kind_result = layout.api_version <= 18 ? CUPTI_ERROR_UNKNOWN : CUPTI_ERROR_INVALID_KIND;
    for (const Stride& stride : kStrides) {
      if (stride.first <= version && version <= stride.last) layout.record_bytes[stride.kind] = stride.bytes;
    }
    for (size_t i = 0; i < kFieldCount; ++i) {
      const Field& field = kFields[i];
      if (field.first <= version) continue;
      for (const uint32_t* kind = KindsOf(field.kind); *kind != 0; ++kind) {
        if (field.offset >= layout.record_bytes[*kind]) continue;
        layout.holes[layout.hole_count++] = {static_cast<uint16_t>(*kind), field.offset, field.bytes};
      }
    }
  }
  return layouts;
}

const std::array<Layout, kVersionCount>& Layouts() {
  static const auto* layouts = new std::array<Layout, kVersionCount>(MakeLayouts());
  return *layouts;
}

}  // namespace

const Field kFields[] = {
#define SIMGPU_RECORD(kind, bytes, first, last)
#define SIMGPU_FIELD(kind, field, offset, bytes, first, last) \
  {#kind, #field, offset, bytes, VersionIndex(#first), VersionIndex(#last)},
#include "tests/simgpu/cupti/layout_table.inc"
#undef SIMGPU_RECORD
#undef SIMGPU_FIELD
};
const size_t kFieldCount = std::size(kFields);

const uint32_t* KindsOf(std::string_view structure) {
  for (const StructureKinds& entry : kStructureKinds) {
    if (structure == entry.name) return entry.kinds;
  }
  static constexpr uint32_t kNone[] = {0};
  return kNone;
}

void Layout::Convert(uint32_t kind, const void* newest, uint8_t* to) const {
  std::memcpy(to, newest, record_bytes[kind]);
  for (uint32_t i = 0; i < hole_count; ++i) {
    if (holes[i].kind == kind) std::memset(to + holes[i].offset, 0, holes[i].bytes);
  }
}

const Layout* FindLayout(std::string_view cuda_version) {
  const uint8_t index = VersionIndex(cuda_version);
  return index == 255 ? nullptr : &Layouts()[index];
}

const Layout& ActiveLayout() {
  static const Layout* const active = [] {
    const std::string& wanted = Simulator::Get().config().cupti_layout;
    const Layout* layout = wanted.empty() ? nullptr : FindLayout(wanted);
    if (layout == nullptr && !wanted.empty()) {
      std::fprintf(stderr,
                   "simgpu: no record layouts of CUDA %s (11.8, 12.0, 12.4, 12.6, 12.8, 12.9, 13.0): using %s\n",
                   wanted.c_str(), kLibraryCudaVersion);
    }
    return layout == nullptr ? FindLayout(kLibraryCudaVersion) : layout;
  }();
  return *active;
}

}  // namespace simgpu::cupti
