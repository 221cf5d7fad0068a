#include "tools/attach/target_memory.h"

#include <elf.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace stallscope::attach {
namespace {

constexpr uint64_t kMostSymbols = 1 << 20;
constexpr uint64_t kMostTableBytes = 256 << 20;

template <typename T>
bool ReadInto(int pid, uint64_t address, T* value) {
  return ReadMemory(pid, address, value, sizeof(T)) == sizeof(T);
}

struct ProgramHeaders {
  std::vector<Elf64_Phdr> segments;
  uint64_t bias = 0;  // what is added to the file's addresses
};

std::optional<ProgramHeaders> ReadProgramHeaders(int pid, const MappedModule& module) {
  Elf64_Ehdr header;
  if (!ReadInto(pid, module.base, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  ProgramHeaders headers;
  headers.segments.resize(header.e_phnum);
  const size_t bytes = headers.segments.size() * sizeof(Elf64_Phdr);
  if (ReadMemory(pid, module.base + header.e_phoff, headers.segments.data(), bytes) != bytes) return std::nullopt;
  uint64_t first = UINT64_MAX;
  for (const Elf64_Phdr& segment : headers.segments) {
    if (segment.p_type == PT_LOAD) first = std::min(first, segment.p_vaddr & ~uint64_t{4095});
  }
  headers.bias = module.base - first;
  return headers;
}

// How many symbols a GNU hash table knows: it has no count, only chains with an end mark.
uint64_t CountSymbols(int pid, uint64_t gnu_hash) {
  uint32_t head[4];
  if (!ReadInto(pid, gnu_hash, &head)) return 0;
  const uint64_t buckets_at = gnu_hash + sizeof(head) + uint64_t{head[2]} * 8;
  if (head[0] > kMostSymbols || head[1] > kMostSymbols || head[2] > kMostSymbols) return 0;
  std::vector<uint32_t> buckets(head[0]);
  if (ReadMemory(pid, buckets_at, buckets.data(), buckets.size() * 4) != buckets.size() * 4) return 0;
  uint64_t last = 0;
  for (uint32_t bucket : buckets) last = std::max<uint64_t>(last, bucket);
  if (last < head[1]) return head[1];
  const uint64_t chain_at = buckets_at + buckets.size() * 4;
  for (; last < kMostSymbols; ++last) {
    uint32_t entry;
    if (!ReadInto(pid, chain_at + (last - head[1]) * 4, &entry)) return 0;
    if ((entry & 1) != 0) return last + 1;
  }
  return 0;
}

}  // namespace

size_t ReadMemory(int pid, uint64_t address, void* buffer, size_t bytes) {
  iovec here{buffer, bytes}, there{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

bool WriteMemory(int pid, uint64_t address, const void* buffer, size_t bytes) {
  iovec here{const_cast<void*>(buffer), bytes}, there{reinterpret_cast<void*>(address), bytes};
  return process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::string ReadText(int pid, uint64_t address, size_t most) {
  std::string text(most, '\0');
  text.resize(ReadMemory(pid, address, text.data(), most));
  // The text may end just before a page that is not there.
  if (text.empty()) {
    text.resize(4096 - address % 4096);
    text.resize(ReadMemory(pid, address, text.data(), text.size()));
  }
  return text.substr(0, text.find('\0'));
}

std::vector<Mapping> ParseMaps(const std::string& text) {
  std::vector<Mapping> mappings;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    Mapping mapping;
    char rights[5] = "";
    unsigned long begin = 0, end = 0, offset = 0, inode = 0;
    int path_at = 0;
    const std::string copy(line);
    if (sscanf(copy.c_str(), "%lx-%lx %4s %lx %*s %lu %n", &begin, &end, rights, &offset, &inode, &path_at) < 5) {
      continue;
    }
    mapping.begin = begin, mapping.end = end, mapping.offset = offset, mapping.inode = inode;
    mapping.readable = rights[0] == 'r', mapping.writable = rights[1] == 'w', mapping.executable = rights[2] == 'x';
    if (path_at > 0 && static_cast<size_t>(path_at) < copy.size()) {
      mapping.path = std::string(absl::StripSuffix(copy.substr(static_cast<size_t>(path_at)), " (deleted)"));
    }
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::string MappedModule::file_name() const {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool MappedModule::IsCode(uint64_t address) const {
  return std::any_of(mappings.begin(), mappings.end(), [address](const Mapping& mapping) {
    return mapping.executable && address >= mapping.begin && address < mapping.end;
  });
}

std::vector<MappedModule> ModulesOf(const std::vector<Mapping>& mappings) {
  std::vector<MappedModule> modules;
  for (const Mapping& mapping : mappings) {
    if (mapping.path.empty() || mapping.path[0] != '/') continue;
    const bool continues = !modules.empty() && modules.back().path == mapping.path &&
                           modules.back().mappings.back().inode == mapping.inode && mapping.offset != 0;
    if (!continues) {
      if (mapping.offset != 0) continue;  // a part of a file that is mapped as data
      modules.emplace_back();
      modules.back().path = mapping.path;
      modules.back().base = mapping.begin;
    }
    modules.back().end = mapping.end;
    modules.back().mappings.push_back(mapping);
  }
  // Files that are only read are no modules.
  modules.erase(std::remove_if(modules.begin(), modules.end(),
                               [](const MappedModule& module) {
                                 return std::none_of(module.mappings.begin(), module.mappings.end(),
                                                     [](const Mapping& mapping) { return mapping.executable; });
                               }),
                modules.end());
  return modules;
}

std::vector<Padding> ReadCodePadding(int pid, const MappedModule& module) {
  std::vector<Padding> paddings;
  const std::optional<ProgramHeaders> headers = ReadProgramHeaders(pid, module);
  if (!headers.has_value()) return paddings;
  for (const Elf64_Phdr& segment : headers->segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || (segment.p_flags & PF_W) != 0) continue;
    Padding padding;
    padding.begin = (headers->bias + segment.p_vaddr + segment.p_memsz + 63) & ~uint64_t{63};
    padding.end = (padding.begin + 4095) & ~uint64_t{4095};
    if (padding.begin < padding.end && module.IsCode(padding.begin) && module.IsCode(padding.end - 1)) {
      paddings.push_back(padding);
    }
  }
  return paddings;
}

std::optional<UnwindTable> ReadUnwindTable(int pid, const MappedModule& module) {
  const std::optional<ProgramHeaders> headers = ReadProgramHeaders(pid, module);
  if (!headers.has_value()) return std::nullopt;
  for (const Elf64_Phdr& segment : headers->segments) {
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    UnwindTable table;
    table.header = headers->bias + segment.p_vaddr;
    uint8_t encodings[4];
    uint32_t count = 0;
    // The one form that linkers write: version 1, 4-byte distances, sorted.
    constexpr uint8_t kUsual[] = {1, 0x1b, 0x03, 0x3b};
    if (!ReadInto(pid, table.header, &encodings) || std::memcmp(encodings, kUsual, sizeof(kUsual)) != 0 ||
        !ReadInto(pid, table.header + 8, &count)) {
      return std::nullopt;
    }
    table.entries = table.header + 12;
    table.count = count;
    return table;
  }
  return std::nullopt;
}

absl::StatusOr<ExportedSymbols> ExportedSymbols::Read(int pid, const MappedModule& module) {
  const auto bad = [&module] {
    return absl::FailedPreconditionError(absl::StrCat("the tables of ", module.path, " cannot be read in its memory"));
  };
  const std::optional<ProgramHeaders> headers = ReadProgramHeaders(pid, module);
  if (!headers.has_value()) return bad();
  const uint64_t bias = headers->bias;
  uint64_t dynamic_at = 0, dynamic_bytes = 0;
  for (const Elf64_Phdr& segment : headers->segments) {
    if (segment.p_type == PT_DYNAMIC) dynamic_at = segment.p_vaddr, dynamic_bytes = segment.p_memsz;
  }
  if (dynamic_at == 0 || dynamic_bytes > (1 << 20)) return bad();
  std::vector<Elf64_Dyn> dynamic(dynamic_bytes / sizeof(Elf64_Dyn));
  if (ReadMemory(pid, bias + dynamic_at, dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn)) !=
      dynamic.size() * sizeof(Elf64_Dyn)) {
    return bad();
  }
  uint64_t symbols_at = 0, strings_at = 0, strings_bytes = 0, gnu_hash = 0;
  for (const Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == DT_NULL) break;
    // The loader has relocated these in place.
    const uint64_t address = entry.d_un.d_ptr < bias ? entry.d_un.d_ptr + bias : entry.d_un.d_ptr;
    if (entry.d_tag == DT_SYMTAB) symbols_at = address;
    if (entry.d_tag == DT_STRTAB) strings_at = address;
    if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
    if (entry.d_tag == DT_GNU_HASH) gnu_hash = address;
  }
  if (symbols_at == 0 || strings_at == 0 || gnu_hash == 0 || strings_bytes > kMostTableBytes) return bad();
  std::vector<Elf64_Sym> table(CountSymbols(pid, gnu_hash));
  std::string strings(strings_bytes, '\0');
  if (ReadMemory(pid, symbols_at, table.data(), table.size() * sizeof(Elf64_Sym)) != table.size() * sizeof(Elf64_Sym) ||
      ReadMemory(pid, strings_at, strings.data(), strings.size()) != strings.size()) {
    return bad();
  }
  ExportedSymbols exported;
  for (const Elf64_Sym& symbol : table) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || symbol.st_name >= strings.size()) continue;
    if (type != STT_FUNC && type != STT_OBJECT) continue;
    exported.symbols_.push_back({bias + symbol.st_value, symbol.st_size, strings.c_str() + symbol.st_name});
  }
  std::stable_sort(exported.symbols_.begin(), exported.symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  return exported;
}

uint64_t ExportedSymbols::Address(std::string_view name) const {
  const auto found =
      std::find_if(symbols_.begin(), symbols_.end(), [name](const Symbol& symbol) { return symbol.name == name; });
  return found != symbols_.end() ? found->address : 0;
}

const Symbol* ExportedSymbols::At(uint64_t address) const {
  auto above = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                [](uint64_t value, const Symbol& symbol) { return value < symbol.address; });
  // Several names for one place: the one that reaches far enough.
  for (int looked = 0; above != symbols_.begin() && looked < 16; ++looked) {
    --above;
    if (address < above->address + above->bytes) return &*above;
  }
  return nullptr;
}

}  // namespace stallscope::attach
