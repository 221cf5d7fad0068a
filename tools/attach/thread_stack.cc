#include "tools/attach/thread_stack.h"

#include <libunwind.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

// Exported by libunwind for tools that know where the tables lie; its headers leave it out.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                                                  void*);
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)

namespace stallscope::attach {
namespace {

constexpr uint64_t kRedZone = 128;
constexpr uint64_t kMostStack = 1 << 20;
constexpr int kMostFrames = 512;

// glibc's allocator: one object file, so that what it does not export lies between or just before what it does.
constexpr const char* kAllocatorNames[] = {"malloc",        "free",          "calloc",          "realloc",
                                           "memalign",      "aligned_alloc", "valloc",          "pvalloc",
                                           "malloc_trim",   "mallinfo",      "mallinfo2",       "malloc_stats",
                                           "malloc_info",   "mallopt",       "posix_memalign",  "malloc_usable_size",
                                           "__libc_malloc", "__libc_calloc", "__libc_memalign", "__libc_free"};
// Functions of the C library that hold a lock of the loader, the allocator or the thread list, or end the process.
constexpr const char* kHoldsLocks[] = {"dl_iterate_phdr",
                                       "dlopen",
                                       "dlmopen",
                                       "dlclose",
                                       "dlsym",
                                       "dlvsym",
                                       "dladdr",
                                       "dladdr1",
                                       "dlinfo",
                                       "dlerror",
                                       "pthread_create",
                                       "fork",
                                       "_Fork",
                                       "vfork",
                                       "posix_spawn",
                                       "posix_spawnp",
                                       "system",
                                       "popen",
                                       "exit",
                                       "_exit",
                                       "quick_exit",
                                       "abort",
                                       "pthread_exit",
                                       "__libc_fork",
                                       "daemon",
                                       "forkpty",
                                       "pthread_mutex_lock",
                                       "pthread_mutex_timedlock",
                                       "pthread_mutex_clocklock",
                                       "__lll_lock_wait_private",
                                       "__lll_lock_wait",
                                       "setuid",
                                       "setgid",
                                       "setresuid",
                                       "setresgid",
                                       "setgroups"};
// Allocators in libraries of their own: all of their code.
constexpr const char* kAllocatorLibraries[] = {"libjemalloc", "libtcmalloc", "libmimalloc",
                                               "libhoard",    "libsnmalloc", "librpmalloc"};

bool IsReturnAddress(int pid, uint64_t address) {
  uint8_t before[7];
  if (ReadMemory(pid, address - sizeof(before), before, sizeof(before)) != sizeof(before)) return false;
  if (before[2] == 0xe8) return true;  // call with a 4-byte distance
  for (size_t length = 2; length <= sizeof(before); ++length) {
    const uint8_t* at = before + sizeof(before) - length;
    if (at[0] == 0xff && (at[1] >> 3 & 7) == 2) return true;  // call through a register or memory
  }
  return false;
}

// What libunwind asks of the copy instead of the thread.
struct Walked {
  int pid;
  const StackCopy* copy;
  const ForbiddenCode* code;
};

int FindTables(unw_addr_space_t space, unw_word_t address, unw_proc_info_t* info, int need, void* argument) {
  const UnwindTable* table = static_cast<Walked*>(argument)->code->TableAt(address);
  if (table == nullptr) return -UNW_ENOINFO;
  unw_dyn_info_t tables{};
  tables.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  tables.start_ip = 0;
  tables.end_ip = ~unw_word_t{0};
  tables.u.rti.segbase = table->header;
  tables.u.rti.table_data = table->entries;
  tables.u.rti.table_len = table->count * 8 / sizeof(unw_word_t);  // an entry has 8 bytes
  return dwarf_search_unwind_table(space, address, &tables, info, need, argument);
}
void PutTables(unw_addr_space_t, unw_proc_info_t*, void*) {}
int NoDynamicTables(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }
int AccessMemory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* argument) {
  const auto* walked = static_cast<Walked*>(argument);
  const StackCopy& copy = *walked->copy;
  if (write != 0) return -UNW_EINVAL;
  if (address >= copy.begin && address - copy.begin + sizeof(*value) <= copy.bytes.size()) {
    std::memcpy(value, copy.bytes.data() + (address - copy.begin), sizeof(*value));
    return 0;
  }
  return ReadMemory(walked->pid, address, value, sizeof(*value)) == sizeof(*value) ? 0 : -UNW_EINVAL;
}
int AccessRegister(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* argument) {
  const user_regs_struct& r = static_cast<Walked*>(argument)->copy->registers;
  if (write != 0) return -UNW_EREADONLYREG;
  switch (number) {
    case UNW_X86_64_RAX:
      *value = r.rax;
      return 0;
    case UNW_X86_64_RDX:
      *value = r.rdx;
      return 0;
    case UNW_X86_64_RCX:
      *value = r.rcx;
      return 0;
    case UNW_X86_64_RBX:
      *value = r.rbx;
      return 0;
    case UNW_X86_64_RSI:
      *value = r.rsi;
      return 0;
    case UNW_X86_64_RDI:
      *value = r.rdi;
      return 0;
    case UNW_X86_64_RBP:
      *value = r.rbp;
      return 0;
    case UNW_X86_64_RSP:
      *value = r.rsp;
      return 0;
    case UNW_X86_64_R8:
      *value = r.r8;
      return 0;
    case UNW_X86_64_R9:
      *value = r.r9;
      return 0;
    case UNW_X86_64_R10:
      *value = r.r10;
      return 0;
    case UNW_X86_64_R11:
      *value = r.r11;
      return 0;
    case UNW_X86_64_R12:
      *value = r.r12;
      return 0;
    case UNW_X86_64_R13:
      *value = r.r13;
      return 0;
    case UNW_X86_64_R14:
      *value = r.r14;
      return 0;
    case UNW_X86_64_R15:
      *value = r.r15;
      return 0;
    case UNW_X86_64_RIP:
      *value = r.rip;
      return 0;
    default:
      return -UNW_EBADREG;
  }
}
int NoFloats(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; }
int NoResume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int NoName(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

// The rest of the stack, word by word.
void SearchStack(int pid, const StackCopy& copy, uint64_t from, const ForbiddenCode& forbidden, StackVerdict* verdict) {
  const uint64_t end = copy.begin + copy.bytes.size();
  verdict->searched_from = from = (from + 7) & ~uint64_t{7};
  verdict->searched_to = end;
  for (uint64_t at = from; at + 8 <= end; at += 8) {
    uint64_t word;
    std::memcpy(&word, copy.bytes.data() + (at - copy.begin), sizeof(word));
    const std::string why = forbidden.Why(word - 1);
    if (!why.empty() && IsReturnAddress(pid, word)) {
      verdict->why_not = absl::StrCat("perhaps ", why);
      return;
    }
  }
}

}  // namespace

absl::StatusOr<ForbiddenCode> ForbiddenCode::Of(int pid, const std::vector<MappedModule>& modules,
                                                const std::vector<Mapping>& mappings) {
  ForbiddenCode forbidden;
  forbidden.mappings_ = mappings;
  bool has_libc = false;
  for (const MappedModule& module : modules) {
    const std::string name = module.file_name();
    if (absl::StartsWith(name, "ld-linux") || absl::StartsWith(name, "ld-2.")) {
      forbidden.ranges_.push_back({module.base, module.end, "inside the loader"});
    }
    for (const char* library : kAllocatorLibraries) {
      if (absl::StartsWith(name, library)) {
        forbidden.ranges_.push_back({module.base, module.end, absl::StrCat("inside ", library)});
      }
    }
    if (const std::optional<UnwindTable> table = ReadUnwindTable(pid, module); table.has_value()) {
      forbidden.tables_.push_back({module.base, module.end, *table});
    }
    const bool is_libc = absl::StartsWith(name, "libc.so.6") || absl::StartsWith(name, "libc-2.");
    auto symbols = ExportedSymbols::Read(pid, module);
    if (!symbols.ok()) {
      if (is_libc) return symbols.status();
      continue;
    }
    if (is_libc && !has_libc) {
      has_libc = true;
      forbidden.libc_ = module;
      forbidden.libc_symbols_ = *symbols;
      uint64_t first = UINT64_MAX, last = 0;
      for (const char* allocator : kAllocatorNames) {
        const uint64_t address = symbols->Address(allocator);
        if (address == 0) continue;
        first = std::min(first, address);
        last = std::max(last, address);
      }
      // Out to its neighbours: the functions of the allocator that are not exported lie there.
      uint64_t before = module.base, after = module.end;
      for (const Symbol& symbol : symbols->sorted()) {
        const bool is_allocator = std::any_of(std::begin(kAllocatorNames), std::end(kAllocatorNames),
                                              [&symbol](const char* one) { return symbol.name == one; });
        if (is_allocator || !module.IsCode(symbol.address)) continue;
        if (symbol.address + symbol.bytes <= first) before = std::max(before, symbol.address + symbol.bytes);
        if (symbol.address > last) after = std::min(after, symbol.address);
      }
      if (last != 0) forbidden.ranges_.push_back({before, after, "inside malloc"});
      for (const char* one : kHoldsLocks) {
        for (const Symbol& symbol : symbols->sorted()) {
          if (symbol.name != one) continue;
          forbidden.ranges_.push_back({symbol.address, symbol.address + symbol.bytes, absl::StrCat("inside ", one)});
        }
      }
      continue;
    }
    // An allocator that the program brings along, under the names that everybody calls.
    if (symbols->Address("malloc") == 0) continue;
    for (const Symbol& symbol : symbols->sorted()) {
      const bool allocates = std::any_of(std::begin(kAllocatorNames), std::end(kAllocatorNames),
                                         [&symbol](const char* one) { return symbol.name == one; });
      if (allocates) forbidden.ranges_.push_back({symbol.address, symbol.address + symbol.bytes, "inside malloc"});
    }
  }
  if (!has_libc) return absl::FailedPreconditionError("no glibc is mapped in it");
  return forbidden;
}

std::string ForbiddenCode::Why(uint64_t address) const {
  for (const Range& range : ranges_) {
    if (address >= range.begin && address < range.end) return range.why;
  }
  return "";
}

bool ForbiddenCode::IsFileCode(uint64_t address) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [address](const Mapping& mapping) {
    return mapping.executable && !mapping.path.empty() && address >= mapping.begin && address < mapping.end;
  });
}

const UnwindTable* ForbiddenCode::TableAt(uint64_t address) const {
  for (const Tables& tables : tables_) {
    if (address >= tables.begin && address < tables.end) return &tables.table;
  }
  return nullptr;
}

uint64_t ForbiddenCode::StackEnd(uint64_t stack_pointer) const {
  for (const Mapping& mapping : mappings_) {
    if (mapping.writable && stack_pointer >= mapping.begin && stack_pointer < mapping.end) return mapping.end;
  }
  return 0;
}

StackCopy CopyStack(int pid, const user_regs_struct& registers, uint64_t stack_end) {
  StackCopy copy;
  copy.registers = registers;
  copy.begin = registers.rsp - kRedZone;
  const uint64_t bytes = stack_end > copy.begin ? std::min(stack_end - copy.begin, kMostStack) : 0;
  copy.bytes.resize(bytes);
  copy.bytes.resize(ReadMemory(pid, copy.begin, copy.bytes.data(), bytes));
  return copy;
}

StackVerdict JudgeStack(int pid, const StackCopy& copy, const ForbiddenCode& forbidden) {
  StackVerdict verdict;
  Walked walked{pid, &copy, &forbidden};
  unw_accessors_t accessors{};
  accessors.find_proc_info = FindTables;
  accessors.put_unwind_info = PutTables;
  accessors.get_dyn_info_list_addr = NoDynamicTables;
  accessors.access_mem = AccessMemory;
  accessors.access_reg = AccessRegister;
  accessors.access_fpreg = NoFloats;
  accessors.resume = NoResume;
  accessors.get_proc_name = NoName;
  unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
  uint64_t searched_from = copy.registers.rsp;
  unw_cursor_t cursor;
  int step = space != nullptr ? unw_init_remote(&cursor, space, &walked) : -UNW_EINVAL;
  if (step == 0) step = 1;
  while (step > 0 && verdict.frames < kMostFrames) {
    unw_word_t address = 0, stack_pointer = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &stack_pointer) != 0) break;
    if (address == 0) {
      step = 0;
      break;
    }
    // A return address stands behind its call, which may be the last instruction of its function.
    const uint64_t place = verdict.frames == 0 ? address : address - 1;
    if (verdict.frames > 0) {
      verdict.return_addresses.emplace_back(stack_pointer - 8, address);
      searched_from = stack_pointer;
    }
    if (!forbidden.IsFileCode(place)) {
      step = -UNW_ENOINFO;
      break;
    }
    verdict.why_not = forbidden.Why(place);
    if (!verdict.why_not.empty()) break;
    ++verdict.frames;
    unw_proc_info_t tables{};
    // Without tables libunwind only guesses.
    if (unw_get_proc_info(&cursor, &tables) != 0 || tables.end_ip - tables.start_ip <= 1) {
      step = -UNW_ENOINFO;
      break;
    }
    step = unw_step(&cursor);
  }
  if (space != nullptr) unw_destroy_addr_space(space);
  verdict.walked_to_its_end = step == 0;
  if (verdict.why_not.empty() && !verdict.walked_to_its_end) {
    // Nothing to search is nothing known: a thread that was made after the mappings were read stands on such a stack.
    if (copy.bytes.empty()) verdict.why_not = "on a stack that cannot be read";
    SearchStack(pid, copy, searched_from, forbidden, &verdict);
  }
  return verdict;
}

bool StillTheSame(int pid, const StackCopy& copy, const StackVerdict& verdict, const user_regs_struct& now) {
  if (now.rip != copy.registers.rip || now.rsp != copy.registers.rsp || now.orig_rax != copy.registers.orig_rax) {
    return false;
  }
  const StackCopy again = CopyStack(pid, now, copy.begin + copy.bytes.size());
  if (again.bytes.size() != copy.bytes.size()) return false;
  for (const auto& [where, what] : verdict.return_addresses) {
    uint64_t found = 0;
    if (where < again.begin || where - again.begin + 8 > again.bytes.size()) return false;
    std::memcpy(&found, again.bytes.data() + (where - again.begin), sizeof(found));
    if (found != what) return false;
  }
  if (verdict.searched_to > verdict.searched_from) {
    const size_t from = verdict.searched_from - copy.begin;
    return std::equal(copy.bytes.begin() + static_cast<std::ptrdiff_t>(from), copy.bytes.end(),
                      again.bytes.begin() + static_cast<std::ptrdiff_t>(from));
  }
  return true;
}

}  // namespace stallscope::attach
