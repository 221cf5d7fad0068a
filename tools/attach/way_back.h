// A place in the target for the way back (injected_code.h) that is there before anything was mapped in it.
//
// A borrowed thread has to come back also when the injector is killed: the kernel then lets it run on from where it
// stands. So it is only ever made to run code that ends in the way back. For its first system calls, with which it maps
// memory, that code lies in the padding behind the code of the C library, of the loader or of the program: bytes of an
// executable page that nobody uses. They are put back with the registers; one page becomes the process's own copy.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/attach/target_memory.h"

namespace stallscope::attach {

inline constexpr uint64_t kWayBackBytes = 384;  // of one place, a multiple of 64

struct WayBackPlace {
  uint64_t address = 0;  // 0: there is none
  bool used = false;     // an injector was killed here: a thread may have been on its way until just now
};
// `modules`: those that are never unloaded, the best one first.
WayBackPlace FindWayBackPlace(int pid, const std::vector<const MappedModule*>& modules);

}  // namespace stallscope::attach
