// An HTTP address on the command line.
#pragma once

#include <string>

namespace stallscope::cli {

// Why `text` is no IP:PORT (also localhost:PORT, [IPv6]:PORT), in the words of a usage error; empty when it is one, or
// nothing (no HTTP).
std::string HttpAddressProblem(const std::string& text);

}  // namespace stallscope::cli
