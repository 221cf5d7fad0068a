#include "agent/stacks/unwind_library.h"

#include <dlfcn.h>
#include <libunwind-x86_64.h>
#include <string.h>
#include <sys/uio.h>

#include "agent/entry/loader_use.h"
#include "agent/entry/log.h"
#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

// The part of libunwind's interface that is used, by the names its header gives the functions.
struct Library {
  decltype(&_Ux86_64_create_addr_space) create_space = nullptr;
  decltype(&_Ux86_64_init_remote) init = nullptr;
  decltype(&_Ux86_64_step) step = nullptr;
  decltype(&_Ux86_64_get_reg) get_reg = nullptr;
  decltype(&_Ux86_64_get_save_loc) get_save_loc = nullptr;
  // Declared in no header; src/dwarf/Gfind_unwind_table of 1.3 and later. For readers of other processes.
  int (*search_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int, void*) = nullptr;
};
constinit Library g_library = {};

// Registers of the made-up frame. Far from everything that is mapped, and from each other.
constexpr uint64_t kSp = 0x1'0000'0000'0000, kBp = 0x2'0000'0000'0000;
constexpr uint64_t kReach = 1u << 30;  // offsets are smaller
// What is read near kSp and kBp: an address again, that says which.
constexpr uint64_t kTold = 0x4'0000'0000'0000;
constexpr uint64_t Told(uint64_t address) noexcept { return kTold + (address << 2); }

bool Near(uint64_t address, uint64_t base) noexcept { return address + kReach - base < 2 * kReach; }

struct Question {
  const ModuleMap* modules;
  uint64_t ip;
  bool no_table = false;  // libunwind would guess then
};

int FindProcInfo(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info, int need_unwind_info, void* argument) {
  auto* question = static_cast<Question*>(argument);
  const Module* module = question->modules->Find(ip);
  if (module == nullptr || module->frame_table == 0) {
    question->no_table = true;
    return -UNW_ENOINFO;
  }
  unw_dyn_info_t table;
  memset(&table, 0, sizeof(table));
  table.start_ip = module->begin;
  table.end_ip = module->end;
  table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.u.rti.segbase = module->frame_header;
  table.u.rti.table_data = module->frame_table;
  table.u.rti.table_len = module->frame_table_entries * 8u / sizeof(unw_word_t);
  const int result = g_library.search_table(space, ip, &table, info, need_unwind_info, argument);
  question->no_table = result < 0;
  return result;
}

void PutUnwindInfo(unw_addr_space_t, unw_proc_info_t*, void*) {}
int NoDynamicInfo(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

int AccessMemory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void*) {
  if (write != 0) return -UNW_EINVAL;
  if (Near(address, kSp) || Near(address, kBp)) {
    *value = Told(address);
    return 0;
  }
  if (address >= kTold && address < 2 * kTold) {  // behind a stack pointer that was read from memory
    *value = kTold;
    return 0;
  }
  return ReadOwnMemory(address, value, sizeof(*value)) ? 0 : -UNW_EINVAL;
}

int AccessRegister(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* argument) {
  if (write != 0) return -UNW_EINVAL;
  switch (number) {
    case UNW_X86_64_RIP:
      *value = static_cast<const Question*>(argument)->ip;
      return 0;
    case UNW_X86_64_RSP:
      *value = kSp;
      return 0;
    case UNW_X86_64_RBP:
      *value = kBp;
      return 0;
    default:
      *value = 0;  // a rule that needs another one leads nowhere
      return 0;
  }
}

int AccessFloat(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EINVAL; }
int Resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int ProcName(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

template <typename Function>
bool Resolve(void* handle, const char* name, Function* function) noexcept {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

constexpr FrameRule kNothing = {FrameKind::kOpaque};

}  // namespace

bool ReadOwnMemory(uint64_t address, void* to, uint64_t bytes) noexcept {
  const iovec here = {to, bytes};
  const iovec there = {reinterpret_cast<void*>(address), bytes};
  return RawSyscall(SYS_process_vm_readv, RawSyscall(SYS_getpid), AsArgument(&here), 1, AsArgument(&there), 1, 0) ==
         static_cast<long>(bytes);
}

bool UnwindLibrary::Open() noexcept {
  if (tried_) return open();
  tried_ = true;
  const LoaderUse in_loader;
  void* handle = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr || !Resolve(handle, "_Ux86_64_create_addr_space", &g_library.create_space) ||
      !Resolve(handle, "_Ux86_64_init_remote", &g_library.init) || !Resolve(handle, "_Ux86_64_step", &g_library.step) ||
      !Resolve(handle, "_Ux86_64_get_reg", &g_library.get_reg) ||
      !Resolve(handle, "_Ux86_64_get_save_loc", &g_library.get_save_loc) ||
      !Resolve(handle, "_Ux86_64_dwarf_search_unwind_table", &g_library.search_table)) {
    Log("no stacks: libunwind-x86_64.so.8 cannot be opened (Debian's libunwind8)");
    return false;
  }
  static constinit unw_accessors_t accessors = {FindProcInfo,   PutUnwindInfo, NoDynamicInfo, AccessMemory,
                                                AccessRegister, AccessFloat,   Resume,        ProcName};
  space_ = g_library.create_space(&accessors, 0);  // its cache of rules is off unless asked for
  return open();
}

FrameRule UnwindLibrary::Learn(const ModuleMap& modules, uint64_t return_address) noexcept {
  if (!open()) return kNothing;
  if (modules.Find(return_address - 1) == nullptr) return LearnTrampoline(return_address);
  // The call is what the frame is in, not the instruction behind it, which may be another function's first.
  Question question = {&modules, return_address - 1};
  unw_cursor_t cursor;
  if (g_library.init(&cursor, static_cast<unw_addr_space_t>(space_), &question) != 0) return kNothing;
  const int stepped = g_library.step(&cursor);
  if (question.no_table) return kNothing;
  if (stepped == 0) return {FrameKind::kOutermost};
  unw_word_t ip = 0, cfa = 0;
  if (stepped < 0 || g_library.get_reg(&cursor, UNW_X86_64_RIP, &ip) != 0 ||
      g_library.get_reg(&cursor, UNW_X86_64_CFA, &cfa) != 0) {
    return kNothing;
  }
  FrameRule rule;
  int64_t offset = 0;
  if (Near(cfa, kSp)) {
    rule.kind = FrameKind::kFromSp;
    offset = static_cast<int64_t>(cfa - kSp);
  } else if (Near(cfa, kBp)) {
    rule.kind = FrameKind::kFromBp;
    offset = static_cast<int64_t>(cfa - kBp);
  } else if ((cfa - kTold) % 4 == 0 && Near((cfa - kTold) / 4, kBp)) {
    rule.kind = FrameKind::kBehindBp;
    offset = static_cast<int64_t>((cfa - kTold) / 4 - kBp);
  } else {
    return kNothing;
  }
  // The walk takes the return address from below the caller's stack pointer.
  if (rule.kind != FrameKind::kBehindBp && ip != Told(cfa - 8)) return kNothing;
  rule.cfa_offset = static_cast<int32_t>(offset);
  unw_save_loc_t saved;
  if (g_library.get_save_loc(&cursor, UNW_X86_64_RBP, &saved) != 0) return kNothing;
  if (saved.type == UNW_SLT_MEMORY) {
    const int64_t bp_offset = static_cast<int64_t>(saved.u.addr - (rule.kind == FrameKind::kBehindBp ? kBp : cfa));
    if (bp_offset < INT16_MIN || bp_offset > INT16_MAX) return kNothing;
    rule.bp_saved = true;
    rule.bp_offset = static_cast<int16_t>(bp_offset);
  } else if (saved.type == UNW_SLT_REG && saved.u.regnum != UNW_X86_64_RBP) {
    return kNothing;
  }
  return rule;
}

FrameRule LearnTrampoline(uint64_t return_address) noexcept {
  uint8_t code[5];
  if (!ReadOwnMemory(return_address, code, sizeof(code))) return kNothing;
  constexpr uint8_t kAdd8Return[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};  // add $8, %rsp; ret: CPython 3.12, 3.13
  constexpr uint8_t kPopReturn[] = {0x5d, 0xc3};                     // pop %rbp; ret
  FrameRule rule;
  if (memcmp(code, kAdd8Return, sizeof(kAdd8Return)) == 0) {
    rule.kind = FrameKind::kFromSp;
    rule.cfa_offset = 16;
    return rule;
  }
  if (memcmp(code, kPopReturn, sizeof(kPopReturn)) == 0) {
    rule.kind = FrameKind::kFromSp;
    rule.cfa_offset = 16;
    rule.bp_saved = true;
    rule.bp_offset = -16;
    return rule;
  }
  return kNothing;
}

}  // namespace stallscope::agent
