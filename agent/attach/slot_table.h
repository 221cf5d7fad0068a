// What was in the call slots before, and which modules have been looked at. Written and read by one walker at a time
// (call_slots.cc); memory is mapped once and kept, since threads may still run through a hook after a detach.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {

class SlotTable {
 public:
  struct Entry {
    uintptr_t slot, original, hook;  // slot 0: free
  };
  static constexpr uint32_t kCapacity = 1u << 16;  // 1.5 MB, touched only where used

  bool Create() noexcept {
    if (entries_ != nullptr) return true;
    const long mapped = RawSyscall(SYS_mmap, 0, kCapacity * sizeof(Entry) + kReals * sizeof(Real),
                                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped < 0 && mapped > -4096) return false;
    entries_ = reinterpret_cast<Entry*>(mapped);
    reals_ = reinterpret_cast<Real*>(entries_ + kCapacity);
    return true;
  }

  uint32_t count() const noexcept { return count_; }

  // False: full, then the slot must not be taken, since nobody could give it back. A slot that is there already (its
  // module was unloaded, another lies there now; or the loader bound it after we had taken it) gets the new value.
  bool Remember(uintptr_t slot, uintptr_t original, uintptr_t hook) noexcept {
    Entry* entry = Place(slot);
    if (entry->slot == 0) {
      if (count_ >= kCapacity / 4 * 3) return false;
      ++count_;
    }
    *entry = {slot, original, hook};
    return true;
  }

  const Entry* Find(uintptr_t slot) const noexcept {
    if (count_ == 0) return nullptr;
    const Entry* entry = Place(slot);
    return entry->slot == slot ? entry : nullptr;
  }

  void Forget() noexcept {
    if (count_ != 0) RawSyscall(SYS_madvise, AsArgument(entries_), kCapacity * sizeof(Entry), MADV_DONTNEED);
    count_ = 0;
  }

  // --- what a hook forwards to, by the hook's symbol number and the version asked for
  const uintptr_t* KnownReal(uint32_t index, const char* version) const noexcept {
    const Real& real = reals_[index % kReals];
    return real.real != 0 && real.index == index && real.version == HashOf(version) ? &real.real : nullptr;
  }
  // A function that is not there (yet) is looked for again.
  void RememberReal(uint32_t index, const char* version, uintptr_t real) noexcept {
    reals_[index % kReals] = {index, HashOf(version), real};
  }

 private:
  struct Real {
    uint32_t index, version;
    uintptr_t real;
  };
  static constexpr uint32_t kReals = 2048;  // more than there are hooks

  static uint32_t HashOf(const char* text) noexcept {
    uint32_t hash = 1;
    for (; text != nullptr && *text != '\0'; ++text) hash = hash * 31 + static_cast<uint8_t>(*text);
    return hash;
  }
  Entry* Place(uintptr_t slot) const noexcept {
    uint32_t at = static_cast<uint32_t>((slot >> 3) * 0x9e3779b97f4a7c15u >> 40) % kCapacity;
    while (entries_[at].slot != 0 && entries_[at].slot != slot) at = (at + 1) % kCapacity;
    return &entries_[at];
  }

  Entry* entries_ = nullptr;
  Real* reals_ = nullptr;
  uint32_t count_ = 0;
};

// A module is known by where it lies. When something was unloaded the list is emptied: another may lie there now.
class KnownModules {
 public:
  struct Entry {
    uintptr_t base, dynamic;
    uint8_t looks_left;  // a slot of it may have been bound by another thread while it was taken
  };

  Entry* Find(uintptr_t base, uintptr_t dynamic) noexcept {
    for (uint32_t i = 0; i < count_; ++i) {
      if (entries_[i].base == base && entries_[i].dynamic == dynamic) return &entries_[i];
    }
    return nullptr;
  }
  // nullptr: the list is full; the module is looked at in every walk then.
  Entry* Add(uintptr_t base, uintptr_t dynamic) noexcept {
    if (count_ == kMost) return nullptr;
    entries_[count_] = {base, dynamic, 0};
    return &entries_[count_++];
  }
  void Forget() noexcept { count_ = 0; }

 private:
  static constexpr uint32_t kMost = 2048;
  Entry entries_[kMost] = {};
  uint32_t count_ = 0;
};

}  // namespace stallscope::agent
