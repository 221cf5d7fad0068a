// What is being tried on which process, for the messages that say why it could not be done.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stallscope::attach {

struct Undertaking {
  int pid = 0;
  std::string name;       // of the process
  const char* verb = "";  // "attach to", "detach from"

  std::string Who() const { return absl::StrCat(pid, " (", name, ")"); }
  std::string Cannot(const std::string& why) const { return absl::StrCat("cannot ", verb, " ", Who(), ": ", why); }
  absl::Status Refuse(const std::string& why) const { return absl::FailedPreconditionError(Cannot(why)); }
};

}  // namespace stallscope::attach
