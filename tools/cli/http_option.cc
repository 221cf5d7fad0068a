#include "tools/cli/http_option.h"

#include <arpa/inet.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace stallscope::cli {

std::string HttpAddressProblem(const std::string& text) {
  if (text.empty()) return "";
  const size_t colon = text.rfind(':');
  unsigned port = 0;
  if (colon != std::string::npos && absl::SimpleAtoi(text.substr(colon + 1), &port) && port <= 65535) {
    std::string host = text.substr(0, colon);
    if (host == "localhost") return "";
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    in6_addr address;
    if (inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1) return "";
  }
  return absl::StrCat("\"", text, "\" is not IP:PORT, as in 127.0.0.1:9417");
}

}  // namespace stallscope::cli
