#include "collector/main/collector_json.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

TEST(CollectorJson, End_IsOneLineWithTheTotals) {
  CollectorTotals totals;
  totals.processes_seen = 2;
  totals.events = 3;
  totals.socket_bytes = 4;
  totals.capture_bytes = 5;
  totals.notices = {"two\nlines"};
  EXPECT_EQ(EndedJson(totals),
            R"({"processes":2,"events":3,"socket_bytes":4,"capture_bytes":5,"notices":["two\nlines"]})");
}

TEST(CollectorJson, NoticeThatIsNoUtf8_StaysJson) {
  CollectorTotals totals;
  totals.notices = {"name \xff"};
  EXPECT_NE(EndedJson(totals).find("name \xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace stallscope
