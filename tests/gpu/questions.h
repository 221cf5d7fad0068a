// The questions that only a GPU answers, each one run of the probe program. An answer is JSON; a question that cannot be
// asked throws NotAnswered with the reason.
#ifndef STALLSCOPE_TESTS_GPU_QUESTIONS_H_
#define STALLSCOPE_TESTS_GPU_QUESTIONS_H_

#include <nlohmann/json.hpp>
#include <string>

namespace gpu_probe {

using Answer = nlohmann::json;

Answer AskDevice();                          // what is there: GPU, driver, runtime, CUPTI
Answer AskLaunchCallbacks();                 // which callback ids `<<<>>>` gives, with which parameters
Answer AskCorrelation();                     // ids of runtime, driver and kernel records of one launch
Answer AskExternalIds();                     // external ids pushed inside callbacks
Answer AskFlushUnfinished();                 // a plain flush beside unfinished work
Answer AskImplicitSynchronization();         // which calls make synchronization records
Answer AskGraphTrace();                      // node records under graph trace, and switching live
Answer AskDetailCost(bool graph);            // a decode loop's step under each level of detail
Answer AskClocks();                          // CUPTI's clock against the host's
Answer AskOverWait(const std::string& how);  // spin, yield, block, event, blocking_event

}  // namespace gpu_probe

#endif  // STALLSCOPE_TESTS_GPU_QUESTIONS_H_
