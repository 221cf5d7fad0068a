#include "collector/tables/duration_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope {
namespace {

TEST(DurationTable, TwoValues_SampleDeviationAndMiddleOfTheTwo) {
  DurationTable table;
  table.Add("a", 169856);
  table.Add("a", 172992);
  const auto rows = table.Rows(RowOrder::kTotal);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].deviation_tenths_ns, 22175);  // 3136 / sqrt(2) = 2217.49
  EXPECT_EQ(rows[0].median_tenths_ns, 1714240);
  EXPECT_EQ(rows[0].share_tenths_percent, 1000);
}

TEST(DurationTable, ExactHalves_RoundUp) {
  DurationTable table;
  for (int64_t value : {0, 0, 0, 1}) table.Add("quarter", value);  // average 0.25
  EXPECT_EQ(table.Rows(RowOrder::kTotal)[0].average_tenths_ns, 3);
}

TEST(DurationTable, SingleValue_NoDeviation) {
  DurationTable table;
  table.Add("once", 7);
  EXPECT_EQ(table.Rows(RowOrder::kTotal)[0].deviation_tenths_ns, 0);
}

TEST(DurationTable, ValuesAboveFourSeconds_StayExact) {
  DurationTable table;
  table.Add("wait", 4'794'012'383);
  table.Add("wait", 2'228'226);
  const auto row = table.Rows(RowOrder::kTotal)[0];
  EXPECT_EQ(row.total_ns, 4'796'240'609);
  EXPECT_EQ(row.max_ns, 4'794'012'383);
  EXPECT_EQ(row.deviation_tenths_ns, 33883030714);
}

TEST(DurationTable, EqualTotals_OrderAsAskedFor) {
  DurationTable table;
  table.Add("b", 5);
  table.Add("b", 5);
  table.Add("a", 10);
  auto keys = [&table](RowOrder order) {
    std::vector<std::string> names;
    for (const auto& row : table.Rows(order)) names.push_back(row.key);
    return names;
  };
  EXPECT_THAT(keys(RowOrder::kTotal), testing::ElementsAre("b", "a"));
  EXPECT_THAT(keys(RowOrder::kTotalThenCountAndName), testing::ElementsAre("a", "b"));
}

TEST(DurationTable, RowWithoutDurations_IsNotPrinted) {
  DurationTable table;
  table.Row("never");
  EXPECT_TRUE(table.empty());
  EXPECT_TRUE(table.Rows(RowOrder::kTotal).empty());
}

}  // namespace
}  // namespace stallscope
