// Text to Script. The grammar is docs/workload-scripts.md.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PARSE_SCRIPT_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PARSE_SCRIPT_H_

#include <optional>
#include <string>
#include <string_view>

#include "tests/workloads/script/script.h"

namespace workloads::script {

// Parses and checks (check_script.h) a whole script; `file_name` is for messages. Nothing, with the one line for the user
// in `*error` ("FILE:LINE:COLUMN: expected ..., found ..."), when it is malformed or impossible. Any bytes are survived.
std::optional<Script> ParseScript(const std::string& file_name, std::string_view text, std::string* error);

// The same for a file; an unreadable one is an error as well.
std::optional<Script> ReadScript(const std::string& path, std::string* error);

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PARSE_SCRIPT_H_
