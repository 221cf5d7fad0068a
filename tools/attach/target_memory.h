// The target's memory and the modules mapped in it, read from outside without stopping it.
//
// Everything read is believed only as far as it can be checked: addresses come out of the target's own tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stallscope::attach {

// How much of it could be read (0: nothing), by process_vm_readv.
size_t ReadMemory(int pid, uint64_t address, void* buffer, size_t bytes);
bool WriteMemory(int pid, uint64_t address, const void* buffer, size_t bytes);
std::string ReadText(int pid, uint64_t address, size_t most);

struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  bool readable = false, writable = false, executable = false;
  std::string path;  // "" when nothing is behind it; " (deleted)" taken off
};
std::vector<Mapping> ParseMaps(const std::string& text);

// All mappings of one file that lie together.
struct MappedModule {
  std::string path;
  uint64_t base = 0, end = 0;  // base: where the file's first byte is mapped
  std::vector<Mapping> mappings;

  std::string file_name() const;
  bool Contains(uint64_t address) const { return address >= base && address < end; }
  bool IsCode(uint64_t address) const;
};
std::vector<MappedModule> ModulesOf(const std::vector<Mapping>& mappings);

// What the pages of a module's code hold behind the end of the code: mapped, executable, and used by nobody.
struct Padding {
  uint64_t begin = 0, end = 0;
};
std::vector<Padding> ReadCodePadding(int pid, const MappedModule& module);

// Where a module's unwind tables lie (.eh_frame_hdr); nothing when it has none that can be searched.
struct UnwindTable {
  uint64_t header = 0, entries = 0, count = 0;
};
std::optional<UnwindTable> ReadUnwindTable(int pid, const MappedModule& module);

struct Symbol {
  uint64_t address = 0, bytes = 0;
  std::string name;
};

// The functions and variables that a module exports, from its tables in the target's memory (the file may have been
// replaced on disk).
class ExportedSymbols {
 public:
  static absl::StatusOr<ExportedSymbols> Read(int pid, const MappedModule& module);

  uint64_t Address(std::string_view name) const;  // 0: not exported
  // The symbol that this address lies in; nullptr: in none (a function that is not exported).
  const Symbol* At(uint64_t address) const;
  const std::vector<Symbol>& sorted() const { return symbols_; }

 private:
  std::vector<Symbol> symbols_;  // by address
};

}  // namespace stallscope::attach
