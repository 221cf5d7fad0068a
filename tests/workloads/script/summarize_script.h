// What a script contains, without playing it: counts with repeats multiplied out, and the device's busy time and gaps
// where the script places its work in time. Converters are checked with it.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_SUMMARIZE_SCRIPT_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_SUMMARIZE_SCRIPT_H_

#include <nlohmann/json.hpp>

#include "tests/workloads/script/script.h"

namespace workloads::script {

// {"threads","statements","kernels","copies","fills","graph_launches","wholes","waits","steps",
//  "names": {kernel: [count, total ns]},
//  "devices": {"0": {"operations","first_ns","last_ns","busy_ns","gaps","gaps_over_20us"}} of placed work}
nlohmann::json SummarizeScript(const Script& script);

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_SUMMARIZE_SCRIPT_H_
