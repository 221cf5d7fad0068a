#include "agent/attach/call_slots.h"

#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>

#include "agent/attach/slot_table.h"
#include "agent/entry/elf_module.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/loader_use.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr uint64_t kLookAgainNs = 100'000'000;  // by then a binding that was under way is over
constexpr uint64_t kGiveUpNs = 1'000'000'000;

constinit std::atomic<bool> g_active{false};   // slots are taken, new modules are looked for
constinit std::atomic<bool> g_walking{false};  // one walker at a time
constinit SlotTable g_table = {};
constinit KnownModules g_known = {};
constinit ElfModule g_self = {};
constinit std::atomic<unsigned long long> g_loads_seen{0};
constinit unsigned long long g_unloads_seen = 0;
constinit std::atomic<uint64_t> g_look_again_ns{0};

// Is the word writable? Adds 0 to it atomically, in the kernel, which answers EFAULT where a store would crash.
bool IsWritable(uintptr_t address) noexcept {
  alignas(4) uint32_t nobody = 0;
  constexpr long kAddNothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
  return RawSyscall(SYS_futex, AsArgument(&nobody), FUTEX_WAKE_OP_PRIVATE, 0, 0,
                    static_cast<long>(address & ~uintptr_t{3}), kAddNothing) >= 0;
}

// The module's read-only-after-relocation pages, made writable while the object lives. While the loader still relocates
// a module, its pages are writable: such a module must not be touched, since we would take the loader's right to write.
class WritableRelro {
 public:
  explicit WritableRelro(const ElfModule& module) noexcept : module_(module) {}
  ~WritableRelro() {
    if (opened_) Protect(PROT_READ);
  }
  WritableRelro(const WritableRelro&) = delete;
  WritableRelro& operator=(const WritableRelro&) = delete;

  bool IsFinished() const noexcept { return Bytes() == 0 || !IsWritable(module_.relro_begin); }
  // Makes this slot writable; false: it cannot be.
  bool Open(uintptr_t slot) noexcept {
    if (slot < module_.relro_begin || slot >= module_.relro_end) {
      if (slot / kPage != good_page_) good_page_ = IsWritable(slot) ? slot / kPage : 0;
      return good_page_ == slot / kPage;
    }
    if (!opened_) opened_ = Protect(PROT_READ | PROT_WRITE);
    return opened_;
  }

 private:
  uintptr_t Bytes() const noexcept {
    return module_.relro_end > module_.relro_begin ? module_.relro_end - module_.relro_begin : 0;
  }
  bool Protect(int rights) const noexcept {
    return RawSyscall(SYS_mprotect, static_cast<long>(module_.relro_begin), static_cast<long>(Bytes()), rights) == 0;
  }

  const ElfModule& module_;
  bool opened_ = false;
  uintptr_t good_page_ = 0;
};

bool StartsWith(const char* text, const char* prefix) noexcept { return strncmp(text, prefix, strlen(prefix)) == 0; }

// The loader and the C library call themselves; the sanitizers' libraries are below every hook.
bool LeftAlone(const ElfModule& module) noexcept {
  if (module.is_self) return true;
  for (const char* name :
       {"ld-linux", "linux-vdso", "libc.so.", "libasan.so", "libtsan.so", "libubsan.so", "liblsan.so"}) {
    if (StartsWith(module.soname, name)) return true;
  }
  return false;
}

const char* LibraryOf(const char* name) noexcept {
  if (StartsWith(name, "cuda") || StartsWith(name, "__cuda")) return "libcudart.so";
  if (StartsWith(name, "cupti")) return "libcupti.so";
  return nullptr;
}

// The hook for a function that a module asks for, and what the hook forwards to.
struct Hook {
  uintptr_t hook = 0, real = 0;
};

Hook HookFor(const char* name, const char* version) noexcept {
  const uint32_t index = FindIndex(g_self, name, version);
  if (index == 0 || ELF64_ST_TYPE(g_self.symbols[index].st_info) != STT_FUNC) return {};
  if (StartsWith(name, "InitializeInjection") || StartsWith(name, "stallscope_attach") ||
      StartsWith(name, "stallscope_detach")) {
    return {};
  }
  Hook found;
  found.hook = g_self.base + g_self.symbols[index].st_value;
  if (const uintptr_t* known = g_table.KnownReal(index, version)) {
    found.real = *known;
  } else {
    found.real = reinterpret_cast<uintptr_t>(ResolveNext(name, version, LibraryOf(name)));
    g_table.RememberReal(index, version, found.real);
  }
  return found;
}

// Does the slot still lead to the loader? Until it is bound it holds the address of its own entry of the PLT, which says which
// relocation the loader is to do: push $INDEX, in programs built for branch tracking with an endbr64 before it. (The linker mold has
// the index in r11 by then, and one address for all: push %r11, push the module.) Any other address in the module is a function
// that somebody has put there, perhaps the program itself.
bool IsUnbound(const ElfModule& module, const ElfW(Rela) & relocation, uintptr_t value) noexcept {
  constexpr uint8_t kEndBranch[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr uint8_t kPush = 0x68, kPushesR11[] = {0x41, 0x53, 0xff, 0x35};
  if (&relocation < module.plt_relocations || value < module.begin || value + 16 > module.end) return false;
  const auto index = static_cast<uint64_t>(&relocation - module.plt_relocations);
  if (index >= module.plt_relocation_bytes / sizeof(ElfW(Rela))) return false;
  const auto* code = reinterpret_cast<const uint8_t*>(value);
  if (memcmp(code, kEndBranch, sizeof(kEndBranch)) == 0) code += sizeof(kEndBranch);
  if (memcmp(code, kPushesR11, sizeof(kPushesR11)) == 0) return true;
  uint32_t pushed = 0;
  memcpy(&pushed, code + 1, sizeof(pushed));
  return code[0] == kPush && pushed == index;
}

struct Walk {
  SlotTotals totals;
  bool unbound_seen = false;
  bool counted_loads = false;
};

// Takes one slot where it may be taken.
void TakeSlot(const ElfModule& module, const ElfW(Rela) & relocation, WritableRelro* relro, bool* unbound) noexcept {
  const unsigned type = ELF64_R_TYPE(relocation.r_info);
  if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) return;
  const uint32_t symbol = ELF64_R_SYM(relocation.r_info);
  if (symbol == 0) return;
  const char* name = module.strings + module.symbols[symbol].st_name;
  const Hook hook = HookFor(name, NeededVersion(module, symbol));
  if (hook.hook == 0 || hook.real == 0) return;
  const uintptr_t slot = module.base + relocation.r_offset;
  auto* word = reinterpret_cast<std::atomic<uintptr_t>*>(slot);
  uintptr_t value = word->load(std::memory_order_relaxed);
  if (value == hook.hook) return;
  const bool is_unbound = type == R_X86_64_JUMP_SLOT && module.symbols[symbol].st_shndx == SHN_UNDEF &&
                          IsUnbound(module, relocation, value);
  if (value != hook.real && !is_unbound) return;
  if (!relro->Open(slot) || !g_table.Remember(slot, value, hook.hook)) return;
  *unbound |= is_unbound;
  // Another thread may be binding it at this moment: then its value stays, and the next look finds it.
  word->compare_exchange_strong(value, hook.hook, std::memory_order_relaxed);
}

void TakeSlotsOf(const ElfModule& module, KnownModules::Entry* known, Walk* walk) noexcept {
  WritableRelro relro(module);
  if (!relro.IsFinished()) {
    ++walk->totals.modules_not_ready;
    return;
  }
  bool unbound = false;
  for (uint64_t i = 0; i < module.relocation_bytes / sizeof(ElfW(Rela)); ++i) {
    TakeSlot(module, module.relocations[i], &relro, &unbound);
  }
  for (uint64_t i = 0; i < module.plt_relocation_bytes / sizeof(ElfW(Rela)); ++i) {
    TakeSlot(module, module.plt_relocations[i], &relro, &unbound);
  }
  if (known == nullptr) known = g_known.Add(module.base, reinterpret_cast<uintptr_t>(module.dynamic));
  if (known == nullptr) return;
  known->looks_left = unbound ? 2 : known->looks_left > 0 ? static_cast<uint8_t>(known->looks_left - 1) : uint8_t{0};
  walk->unbound_seen |= known->looks_left > 0;
}

int VisitForSelf(dl_phdr_info* info, size_t, void*) noexcept {
  return ReadModule(info, &g_self) && g_self.is_self ? 1 : 0;
}

int VisitToTake(dl_phdr_info* info, size_t, void* argument) noexcept {
  auto* walk = static_cast<Walk*>(argument);
  if (!walk->counted_loads) {
    walk->counted_loads = true;
    // Something was unloaded: another module may lie where a known one lay.
    if (info->dlpi_subs != g_unloads_seen) g_known.Forget();
    g_unloads_seen = info->dlpi_subs;
    g_loads_seen.store(info->dlpi_adds + info->dlpi_subs, std::memory_order_relaxed);
  }
  ElfModule module;
  if (!ReadModule(info, &module) || LeftAlone(module)) return 0;
  ++walk->totals.modules;
  KnownModules::Entry* known = g_known.Find(module.base, reinterpret_cast<uintptr_t>(module.dynamic));
  if (known != nullptr && known->looks_left == 0) return 0;
  TakeSlotsOf(module, known, walk);
  return 0;
}

struct GiveBack {
  int32_t count = 0;
};

void GiveSlotBack(const ElfModule& module, const ElfW(Rela) & relocation, WritableRelro* relro,
                  GiveBack* back) noexcept {
  const unsigned type = ELF64_R_TYPE(relocation.r_info);
  if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) return;
  const uintptr_t slot = module.base + relocation.r_offset;
  const SlotTable::Entry* entry = g_table.Find(slot);
  if (entry == nullptr) return;
  auto* word = reinterpret_cast<std::atomic<uintptr_t>*>(slot);
  // Another tool may have put its own function there since; that one stays.
  if (word->load(std::memory_order_relaxed) != entry->hook || !relro->Open(slot)) return;
  uintptr_t ours = entry->hook;
  if (word->compare_exchange_strong(ours, entry->original, std::memory_order_relaxed)) ++back->count;
}

int VisitToGiveBack(dl_phdr_info* info, size_t, void* argument) noexcept {
  ElfModule module;
  if (!ReadModule(info, &module) || LeftAlone(module)) return 0;
  WritableRelro relro(module);
  if (!relro.IsFinished()) return 0;  // being loaded: never taken
  auto* back = static_cast<GiveBack*>(argument);
  for (uint64_t i = 0; i < module.relocation_bytes / sizeof(ElfW(Rela)); ++i) {
    GiveSlotBack(module, module.relocations[i], &relro, back);
  }
  for (uint64_t i = 0; i < module.plt_relocation_bytes / sizeof(ElfW(Rela)); ++i) {
    GiveSlotBack(module, module.plt_relocations[i], &relro, back);
  }
  return 0;
}

int VisitForLoads(dl_phdr_info* info, size_t, void* argument) noexcept {
  *static_cast<unsigned long long*>(argument) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

SlotTotals WalkModules() noexcept {
  Walk walk;
  const LoaderUse in_loader;
  dl_iterate_phdr(VisitToTake, &walk);
  walk.totals.slots = g_table.count();
  const bool again = walk.unbound_seen || walk.totals.modules_not_ready != 0;
  g_look_again_ns.store(again ? MonotonicNs() + kLookAgainNs : 0, std::memory_order_relaxed);
  return walk.totals;
}

}  // namespace

SlotTotals TakeCallSlots() noexcept {
  SlotTotals totals;
  const LoaderUse in_loader;
  if (IsForkedChild() || g_walking.exchange(true, std::memory_order_acquire)) return totals;
  if (g_table.Create() && (g_self.is_self || dl_iterate_phdr(VisitForSelf, nullptr) != 0)) {
    g_active.store(true, std::memory_order_release);
    totals = WalkModules();
  }
  g_walking.store(false, std::memory_order_release);
  return totals;
}

void WatchModules(uint64_t now_ns) noexcept {
  if (!g_active.load(std::memory_order_acquire) || IsForkedChild()) return;
  unsigned long long loads = 0;
  const LoaderUse in_loader;
  dl_iterate_phdr(VisitForLoads, &loads);
  const uint64_t look_again_ns = g_look_again_ns.load(std::memory_order_relaxed);
  const bool again = look_again_ns != 0 && now_ns >= look_again_ns;
  if (loads == g_loads_seen.load(std::memory_order_relaxed) && !again) return;
  if (g_walking.exchange(true, std::memory_order_acquire)) return;
  if (g_active.load(std::memory_order_acquire)) WalkModules();
  g_walking.store(false, std::memory_order_release);
}

int32_t GiveCallSlotsBack() noexcept {
  if (!g_active.exchange(false, std::memory_order_acq_rel) || IsForkedChild()) return 0;
  const uint64_t deadline_ns = MonotonicNs() + kGiveUpNs;
  while (g_walking.exchange(true, std::memory_order_acquire)) {
    if (MonotonicNs() >= deadline_ns) return -1;
    RawSyscall(SYS_sched_yield);
  }
  GiveBack back;
  const LoaderUse in_loader;
  dl_iterate_phdr(VisitToGiveBack, &back);
  g_table.Forget();
  g_known.Forget();
  g_walking.store(false, std::memory_order_release);
  return back.count;
}

}  // namespace stallscope::agent
