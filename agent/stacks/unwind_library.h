// libunwind, opened when it is first needed, and asked one question: how is the caller of the frame found whose return
// address is this?
//
// Streaming thread only: opening allocates and takes the loader's lock. libunwind-x86_64.so.8, its reader of other
// processes' frames, is opened with RTLD_LOCAL: it comes after the program's own unwinder for everybody, and is never
// NEEDED. It reads this process through the kernel (process_vm_readv), so that a module that goes away while it is being
// read is an error and not a fault. It is asked with made-up registers and answers for memory that says where it was read,
// which tells the rule behind the answer.
#pragma once

#include "agent/stacks/frame_rules.h"
#include "agent/stacks/module_map.h"

namespace stallscope::agent {

class UnwindLibrary {
 public:
  // False: it is not there, or lacks something. Asked once; the answer stays.
  bool Open() noexcept;
  bool open() const noexcept { return space_ != nullptr; }

  // kOpaque when there is no answer.
  FrameRule Learn(const ModuleMap& modules, uint64_t return_address) noexcept;

 private:
  void* space_ = nullptr;
  bool tried_ = false;
};

// Reads this process's memory; false when not all of it is there.
bool ReadOwnMemory(uint64_t address, void* to, uint64_t bytes) noexcept;

// The rule of a place in code that no module has, from the instructions there: what stands behind the call in a trampoline
// (CPython's perf trampolines, 3.12 and later) is its way back. kOpaque when it is anything else.
FrameRule LearnTrampoline(uint64_t return_address) noexcept;

}  // namespace stallscope::agent
