// A file of our own in the folder for temporary files, with a name that nobody could have put a link under.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace stallscope::cli {

// Makes an empty file of mode 0600 in $TMPDIR (else /tmp) whose name begins with `stem`. The caller removes it.
absl::StatusOr<std::string> MakePrivateFile(const std::string& stem);

}  // namespace stallscope::cli
