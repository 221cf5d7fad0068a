#include "tests/simgpu/core/config.h"

#include <gtest/gtest.h>

namespace simgpu {
namespace {

TEST(Config, KeyLine_SetsItsValueAndIgnoresComments) {
  Config config;
  std::string error;
  EXPECT_TRUE(ApplyConfigLine("  kernel_ns = 4000  # slow", &config, &error));
  EXPECT_EQ(config.kernel_ns, 4000u);
  EXPECT_TRUE(ApplyConfigLine("# only a comment", &config, &error));
  EXPECT_TRUE(ApplyConfigLine("pinned_gb_per_s = 12.5", &config, &error));
  EXPECT_DOUBLE_EQ(config.pinned_gb_per_s, 12.5);
}

TEST(Config, UnknownKeyOrBadNumber_IsNamed) {
  Config config;
  std::string error;
  EXPECT_FALSE(ApplyConfigLine("kernel_us = 4", &config, &error));
  EXPECT_NE(error.find("kernel_us"), std::string::npos);
  EXPECT_FALSE(ApplyConfigLine("kernel_ns = 4us", &config, &error));
  EXPECT_NE(error.find("4us"), std::string::npos);
  EXPECT_FALSE(ApplyConfigLine("queue_depth = 0", &config, &error));
  EXPECT_FALSE(ApplyConfigLine("kernel only_a_name", &config, &error));
}

TEST(Config, KernelRules_KeepTheirOrder) {
  Config config;
  std::string error;
  ASSERT_TRUE(ApplyConfigLine("kernel a 100", &config, &error));
  ASSERT_TRUE(ApplyConfigLine("kernel b 200 0.5", &config, &error));
  ASSERT_EQ(config.kernel_rules.size(), 2u);
  EXPECT_EQ(config.kernel_rules[1].name_part, "b");
  EXPECT_DOUBLE_EQ(config.kernel_rules[1].per_block_ns, 0.5);
}

}  // namespace
}  // namespace simgpu
