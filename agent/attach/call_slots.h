// Pointing the call slots of loaded modules at the agent's hooks, and back.
//
// A module calls another module's function through a slot of its global offset table (R_X86_64_JUMP_SLOT, and
// R_X86_64_GLOB_DAT for -fno-plt and addresses that are taken). Where the agent comes with LD_PRELOAD the loader fills
// the slots with the agent's hooks; in a process that runs already, this does. A slot is taken only when it holds the
// very function that the hook forwards to, or is still unbound: a module that is bound to somebody else's function of
// that name stays bound to it.
//
// Nothing here allocates or waits for a lock of the program's own; the loader's list is walked by dl_iterate_phdr. One
// walker at a time: a second one goes away. Never in a forked child, where the loader's lock may be held for ever.
#pragma once

#include <cstdint>

namespace stallscope::agent {

struct SlotTotals {
  uint32_t modules = 0;            // looked at, now or before
  uint32_t slots = 0;              // that lead to the agent now
  uint32_t modules_not_ready = 0;  // being loaded by another thread: the next walk will find them
};

// Takes the slots of every module that was not looked at before. Any thread; not from a signal handler.
SlotTotals TakeCallSlots() noexcept;

// Looks for modules that came since the last walk, and again at those whose slots another thread may have been binding
// at that moment. Cheap when nothing has changed.
void WatchModules(uint64_t now_ns) noexcept;

// Gives every slot back that still holds what TakeCallSlots put there. Returns how many, or -1: another walker did not
// come to an end within a second.
int32_t GiveCallSlotsBack() noexcept;

}  // namespace stallscope::agent
