// Texts of a report that are made of numbers: who a line was charged to, the name of a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collector/base/event.h"
#include "collector/windows/line_notes.h"

namespace stallscope {

// The name as nsys prints it: exactly "_v" and four digits at the end are cut, so "cudaGraphLaunch_v10000" stays.
std::string_view WithoutVersion(std::string_view call_name);

// What a process without CUPTI still says, and what it cannot.
inline constexpr char kKnownWithoutCupti[] =
    "Still known: waits, and CUDA calls through the shared runtime or by programs linked to libcuda. Not known: what "
    "ran on "
    "the GPU and when, over-wait, calls of a runtime inside the program, and driver calls by dlsym or cuGetProcAddress";

// "MainThread"; "tid 4711" when it has no name.
std::string TextOfThread(ThreadIndex thread, const ProcessNames* names);

// "cudaDeviceSynchronize, MainThread"; "" when nothing is worth saying.
std::string TextOfCause(const Cause& cause, const ProcessNames* names);

}  // namespace stallscope
