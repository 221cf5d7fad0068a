#include "collector/steps/token_count.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

TEST(TokenCount, FourByteIds_OneARow) {
  TokenCount count(0);
  count.Learn({32});
  EXPECT_EQ(count.Tokens({32}), 8u);
}

TEST(TokenCount, SizesAllMultiplesOfEight_IdsAreEightBytes) {
  TokenCount count(0);
  for (const uint64_t bytes : {8, 24, 40}) count.Learn({bytes});
  EXPECT_EQ(count.Tokens({40}), 5u);
}

TEST(TokenCount, AnOddMultipleOfFour_IdsAreFourBytes) {
  TokenCount count(0);
  for (const uint64_t bytes : {8, 16, 12}) count.Learn({bytes});
  EXPECT_EQ(count.Tokens({16}), 4u);
}

TEST(TokenCount, IdsAndCountsTogether_TheCountsTellTheRows) {
  // vLLM's newer runner: int64 [rows, 1 + 3 drafted] and int32 [rows].
  TokenCount count(0);
  count.Learn({8 * 5 * 4, 4 * 5});
  EXPECT_EQ(count.Tokens({8 * 5 * 4, 4 * 5}), 5u);
}

TEST(TokenCount, Scores_UnitIsTheGreatestCommonDivisor) {
  TokenCount count(0);
  const uint64_t row = 4 * 151936;
  count.Learn({2 * row});
  count.Learn({3 * row});
  EXPECT_EQ(count.Tokens({6 * row}), 6u);
}

TEST(TokenCount, VocabularyGiven_DecidesAlone) {
  TokenCount count(512);
  EXPECT_EQ(count.Tokens({3 * 2048}), 3u);
}

TEST(TokenCount, LargeSizesWithoutACommonRow_SayNothing) {
  TokenCount count(0);
  count.Learn({100'003});
  count.Learn({100'019});
  EXPECT_EQ(count.Tokens({100'003}), 0u);
}

}  // namespace
}  // namespace stallscope
