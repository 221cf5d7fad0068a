#include "tools/cli/http_option.h"

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

TEST(HttpAddressProblem, Addresses_HaveNone) {
  for (const char* text : {"127.0.0.1:0", "localhost:9417", "[::1]:65535", "0.0.0.0:80", ""}) {
    EXPECT_EQ(HttpAddressProblem(text), "") << text;
  }
}

TEST(HttpAddressProblem, AnythingElse_IsShownWithAnExample) {
  for (const char* text :
       {"garbage", ":80", "9417", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "host:80", "1.2.3:80"}) {
    EXPECT_EQ(HttpAddressProblem(text), "\"" + std::string(text) + "\" is not IP:PORT, as in 127.0.0.1:9417");
  }
}

}  // namespace
}  // namespace stallscope::cli
