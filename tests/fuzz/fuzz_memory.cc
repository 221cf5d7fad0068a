// libFuzzer: STALLSCOPE_FUZZERS=ON with clang, then bin/write_seeds DIR; bin/fuzz_memory DIR/memory -max_total_time=60
#include "tests/fuzz/hostile_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stallscope::fuzz::ReadHostileMemory({reinterpret_cast<const char*>(data), size});
  return 0;
}
