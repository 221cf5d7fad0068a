// The agent's own messages, only where STALLSCOPE_LOG asks for them ("1": standard error, else the path of a file to
// append to). Plain system calls; keeps no descriptor open. Never called on the hot path.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// One line: "stallscope[PID]: text detail number". detail may be nullptr; number is left out when it is kNoNumber.
inline constexpr int64_t kNoNumber = INT64_MIN;
void Log(const char* text, const char* detail = nullptr, int64_t number = kNoNumber) noexcept;

}  // namespace stallscope::agent
