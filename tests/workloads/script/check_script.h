// What makes a well-formed script impossible to play: device work that overlaps in one stream, mutexes that are unlocked
// by who does not hold them, queues that are taken more often than put.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_CHECK_SCRIPT_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_CHECK_SCRIPT_H_

#include <cstdint>
#include <string>

#include "tests/workloads/script/script.h"

namespace workloads::script {

// The first impossibility as one line for the user, or nothing.
std::string CheckScript(const Script& script);

// How long a graph takes at least: its nodes where they are placed, each branch in order.
uint64_t GraphSpanNs(const Graph& graph);

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_CHECK_SCRIPT_H_
