// The readers of foreign bytes, each as one function over arbitrary input: what the mutation test runs thousands of
// times and what libFuzzer explores. Each reads everything that can be read, with the real analysis behind it.
//
// A reader may refuse or skip anything; it may not crash, hang, or grow without bound. Returns how many events came
// out, so that a test can see that the unharmed input does get through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stallscope::fuzz {

// What an agent sends on its socket: length-prefixed frames, the first a hello.
uint64_t ReadHostileStream(std::string_view bytes);
// A capture file.
uint64_t ReadHostileCapture(std::string_view bytes);
// A process's shared memory: drained live, asked who is blocked, drained for good.
uint64_t ReadHostileMemory(std::string_view bytes);

}  // namespace stallscope::fuzz
