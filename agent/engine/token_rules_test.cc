#include <gtest/gtest.h>

#include "agent/engine/engine_marks.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kContext = 0x5000;

TEST(TokenRules, EachOutputOfAStep_CountsOnce) {
  TokenRules rules;
  for (int step = 0; step < 3; ++step) {
    rules.OnDecode();
    EXPECT_TRUE(rules.OnOutput(kContext, 0));
    EXPECT_TRUE(rules.OnOutput(kContext, 1));
    EXPECT_FALSE(rules.OnOutput(kContext, 1));  // sampled anew after the grammar refused, or read for log probabilities
  }
}

TEST(TokenRules, SameOutputAfterADecode_IsANewToken) {
  TokenRules rules;
  rules.OnDecode();
  EXPECT_TRUE(rules.OnOutput(kContext, -1));
  rules.OnDecode();
  EXPECT_TRUE(rules.OnOutput(kContext, -1));
}

TEST(TokenRules, AllLogitsAsACheckOnly_NeverCounts) {
  TokenRules rules;
  int tokens = 0;
  for (int step = 0; step < 4; ++step) {
    rules.OnDecode();
    tokens += rules.OnAllLogits(kContext);
    tokens += rules.OnOutput(kContext, 0);
    tokens += rules.OnAllLogits(kContext);
    tokens += rules.OnOutput(kContext, 1);
  }
  EXPECT_EQ(tokens, 8);
}

TEST(TokenRules, AllLogitsAlone_CountsOncePerStepFromTheSecondStepOn) {
  TokenRules rules;
  int tokens = 0;
  for (int step = 0; step < 5; ++step) {
    rules.OnDecode();
    tokens += rules.OnAllLogits(kContext);
    tokens += rules.OnAllLogits(kContext);
  }
  EXPECT_EQ(tokens, 4);
}

TEST(TokenRules, TwoContexts_AreTwoTokens) {
  TokenRules rules;
  rules.OnDecode();
  EXPECT_TRUE(rules.OnOutput(kContext, 0));
  EXPECT_TRUE(rules.OnOutput(kContext + 0x100, 0));
}

}  // namespace
}  // namespace stallscope::agent
