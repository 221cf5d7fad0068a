// Is a parked thread somewhere where the loader and the allocator may be used? Its stack is walked by the unwind tables;
// where those end (generated code), the rest of the stack is searched for return addresses.
//
// The thread is stopped only while registers and stack are copied; the walk happens on the copy. Before the thread is
// used, StillTheSame tells whether it stands where it stood.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/attach/target_memory.h"

namespace stallscope::attach {

// Where a thread must not be: the loader's code, the allocator's, and what holds locks of theirs.
class ForbiddenCode {
 public:
  static absl::StatusOr<ForbiddenCode> Of(int pid, const std::vector<MappedModule>& modules,
                                          const std::vector<Mapping>& mappings);

  // The C library: system calls of a thread that may be used come from here.
  const MappedModule& libc() const { return libc_; }
  const ExportedSymbols& libc_symbols() const { return libc_symbols_; }
  // Why a frame at this address forbids; empty: it does not.
  std::string Why(uint64_t address) const;
  // In code of a file; generated code has no unwind tables.
  bool IsFileCode(uint64_t address) const;
  // The unwind tables of the file's code at this address; nullptr: none.
  const UnwindTable* TableAt(uint64_t address) const;
  // The end of the memory that this stack pointer lies in; 0: in none.
  uint64_t StackEnd(uint64_t stack_pointer) const;

 private:
  struct Range {
    uint64_t begin, end;
    std::string why;
  };
  MappedModule libc_;
  ExportedSymbols libc_symbols_;
  std::vector<Range> ranges_;
  struct Tables {
    uint64_t begin, end;
    UnwindTable table;
  };
  std::vector<Tables> tables_;
  std::vector<Mapping> mappings_;
};

struct StackCopy {
  user_regs_struct registers{};
  std::vector<uint8_t> bytes;  // from the red zone below the stack pointer on
  uint64_t begin = 0;
};
StackCopy CopyStack(int pid, const user_regs_struct& registers, uint64_t stack_end);

struct StackVerdict {
  std::string why_not;  // empty: the thread may be used
  int frames = 0;
  bool walked_to_its_end = false;
  std::vector<std::pair<uint64_t, uint64_t>> return_addresses;  // where, and what
  uint64_t searched_from = 0, searched_to = 0;                  // of the stack, where the walk ended early
};
StackVerdict JudgeStack(int pid, const StackCopy& copy, const ForbiddenCode& forbidden);

bool StillTheSame(int pid, const StackCopy& copy, const StackVerdict& verdict, const user_regs_struct& now);

}  // namespace stallscope::attach
