// Plays a script: one pthread a script thread, all set free at the script's begin.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAYER_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAYER_H_

#include <optional>
#include <string>

#include "tests/workloads/script/play_clock.h"
#include "tests/workloads/script/script.h"

namespace workloads::script {

// What was really done.
struct PlayCounts {
  uint64_t kernels = 0, copies = 0, fills = 0, graph_launches = 0, waits = 0, steps = 0, tokens = 0;
  uint64_t calls_as_host_time = 0;  // `call` of a function that the player does not know
  double seconds = 0;               // from the script's begin to the end of its last thread, on its clock
};

// Nothing, with a line for the user, when this process is not on the simulated GPU or every thread waits for another. A
// CUDA error ends the process with 1. `script` is borrowed.
std::optional<PlayCounts> Play(const Script& script, const PlayOptions& options, std::string* error);

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAYER_H_
