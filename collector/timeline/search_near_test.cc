#include "collector/timeline/search_near.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

TEST(FirstNotBefore, AnyHint_FindsWhatAFullScanFinds) {
  for (uint64_t first : {0, 5}) {
    for (uint64_t count = 0; count < 40; ++count) {
      const uint64_t end = first + count;
      for (uint64_t answer = first; answer <= end; ++answer) {
        for (uint64_t near = 0; near < end + 3; ++near) {
          const auto before = [&](uint64_t number) {
            EXPECT_GE(number, first);
            EXPECT_LT(number, end);
            return number < answer;
          };
          ASSERT_EQ(FirstNotBefore(first, end, near, before), answer) << first << " " << end << " " << near;
        }
      }
    }
  }
}

TEST(FirstNotBefore, AnswerNearTheHint_LooksAtFewEntries) {
  int looked = 0;
  const auto before = [&looked](uint64_t number) {
    ++looked;
    return number < 700'000;
  };
  EXPECT_EQ(FirstNotBefore(0, 1'000'000, 699'997, before), 700'000u);
  EXPECT_LE(looked, 8);
}

}  // namespace
}  // namespace stallscope
