#include "agent/stacks/module_map.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/entry/loader_use.h"
#include "agent/hot/raw_syscall.h"
#include "agent/stream/arena.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kLongestPath = 4096;

// .eh_frame_hdr as every linker of the last twenty years writes it.
struct FrameHeader {
  uint8_t version, frame_encoding, count_encoding, table_encoding;
  int32_t frames;
  uint32_t count;
};
constexpr uint8_t kPcRelative4 = 0x1b, kUnsigned4 = 0x03, kDataRelative4 = 0x3b;

// The notes of a loaded module; nullptr when it has no build id.
const uint8_t* FindBuildId(uint64_t notes, uint64_t bytes, uint32_t* id_bytes) noexcept {
  uint64_t at = 0;
  while (bytes - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, reinterpret_cast<const void*>(notes + at), sizeof(note));
    at += sizeof(note);
    const uint64_t name_bytes = (uint64_t{note.n_namesz} + 3) & ~uint64_t{3};
    const uint64_t content_bytes = (uint64_t{note.n_descsz} + 3) & ~uint64_t{3};
    if (name_bytes > bytes - at || content_bytes > bytes - at - name_bytes) return nullptr;
    const auto* name = reinterpret_cast<const char*>(notes + at);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      *id_bytes = note.n_descsz;
      return reinterpret_cast<const uint8_t*>(notes + at + name_bytes);
    }
    at += name_bytes + content_bytes;
  }
  return nullptr;
}

// Under the loader's lock: the module cannot go away meanwhile.
bool Describe(const dl_phdr_info* info, Module* module) noexcept {
  *module = {};
  module->bias = info->dlpi_addr;
  module->begin = ~uint64_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      if (begin < module->begin) module->begin = begin;
      if (begin + header.p_memsz > module->end) module->end = begin + header.p_memsz;
    } else if (header.p_type == PT_NOTE && module->build_id_bytes == 0) {
      uint32_t bytes = 0;
      const uint8_t* id = FindBuildId(begin, header.p_memsz, &bytes);
      if (id != nullptr) {
        module->build_id_bytes = bytes < sizeof(module->build_id) ? bytes : sizeof(module->build_id);
        memcpy(module->build_id, id, module->build_id_bytes);
      }
    } else if (header.p_type == PT_GNU_EH_FRAME && header.p_memsz >= sizeof(FrameHeader)) {
      FrameHeader frames;
      memcpy(&frames, reinterpret_cast<const void*>(begin), sizeof(frames));
      if (frames.version == 1 && frames.frame_encoding == kPcRelative4 && frames.count_encoding == kUnsigned4 &&
          frames.table_encoding == kDataRelative4) {
        module->frame_header = begin;
        module->frame_table = begin + sizeof(FrameHeader);
        module->frame_table_entries = frames.count;
      }
    }
  }
  return module->begin < module->end;
}

bool Same(const Module& a, const Module& b) noexcept {
  return a.begin == b.begin && a.end == b.end && a.bias == b.bias && a.build_id_bytes == b.build_id_bytes &&
         memcmp(a.build_id, b.build_id, sizeof(a.build_id)) == 0;
}

}  // namespace

struct ModuleMap::Look {
  ModuleMap* map;
  bool only_counts;
  unsigned long long loads = 0, unloads = 0;
  Module* fresh = nullptr;  // found for the first time, in the room behind the known ones
  uint32_t fresh_count = 0;
};

bool ModuleMap::Create() noexcept {
  if (modules_ == nullptr) modules_ = MapArray<Module>(kMostModules);
  if (paths_ == nullptr) paths_ = MapArray<char>(kPathBytes);
  return modules_ != nullptr && paths_ != nullptr;
}

const char* ModuleMap::KeepPath(const char* path) noexcept {
  const uint64_t bytes = strnlen(path, kLongestPath) + 1;
  if (bytes > kPathBytes - path_bytes_) return "";
  char* kept = paths_ + path_bytes_;
  memcpy(kept, path, bytes - 1);
  path_bytes_ += bytes;
  return kept;
}

int ModuleMap::OnModule(dl_phdr_info* info, unsigned long, void* argument) noexcept {
  auto* look = static_cast<Look*>(argument);
  look->loads = info->dlpi_adds;
  look->unloads = info->dlpi_subs;
  if (look->only_counts) return 1;
  ModuleMap* map = look->map;
  Module found;
  if (!Describe(info, &found)) return 0;
  for (uint32_t i = 0; i < map->count_; ++i) {
    Module* known = &map->modules_[i];
    if (known->last_generation == 0 && !known->seen && Same(*known, found)) {
      known->seen = true;
      return 0;
    }
  }
  if (map->count_ + look->fresh_count >= kMostModules) return 0;
  found.path = info->dlpi_name == nullptr ? "" : map->KeepPath(info->dlpi_name);
  map->modules_[map->count_ + look->fresh_count++] = found;
  return 0;
}

bool ModuleMap::Refresh() noexcept {
  Look look = {this, /*only_counts=*/true};
  const LoaderUse in_loader;
  dl_iterate_phdr(OnModule, &look);
  if (count_ != 0 && look.loads == loads_ && look.unloads == unloads_) return false;
  for (uint32_t i = 0; i < count_; ++i) modules_[i].seen = false;
  look.only_counts = false;
  dl_iterate_phdr(OnModule, &look);
  bool gone = look.unloads != unloads_ && count_ != 0;  // also what came and went in between
  for (uint32_t i = 0; i < count_; ++i) gone = gone || (modules_[i].last_generation == 0 && !modules_[i].seen);
  if (gone) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (modules_[i].last_generation == 0 && !modules_[i].seen) modules_[i].last_generation = generation_;
    }
    ++generation_;
  }
  for (uint32_t i = 0; i < look.fresh_count; ++i) {
    Module* module = &modules_[count_ + i];
    module->first_generation = generation_;
    // The program itself has no name at the loader's.
    if (module->path[0] == '\0') {
      char path[kLongestPath];
      const long bytes = RawSyscall(SYS_readlink, AsArgument("/proc/self/exe"), AsArgument(path), sizeof(path) - 1);
      path[bytes > 0 ? bytes : 0] = '\0';
      module->path = KeepPath(path);
    }
  }
  count_ += look.fresh_count;
  loads_ = look.loads;
  unloads_ = look.unloads;
  return gone;
}

const Module* ModuleMap::Find(uint64_t address) const noexcept {
  for (uint32_t i = count_; i-- != 0;) {
    const Module& module = modules_[i];
    if (module.last_generation == 0 && address >= module.begin && address < module.end) return &module;
  }
  return nullptr;
}

}  // namespace stallscope::agent
