#include "tools/cli/window_option.h"

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

TEST(ParseWindow, UnitsAndAll) {
  EXPECT_EQ(*ParseWindow("10s"), 10'000'000'000);
  EXPECT_EQ(*ParseWindow("500ms"), 500'000'000);
  EXPECT_EQ(*ParseWindow("5m"), 300'000'000'000);
  EXPECT_EQ(*ParseWindow("all"), 0);
}

TEST(ParseWindow, WhatIsNoLength_IsRefused) {
  for (const char* text : {"", "10", "-1s", "0s", "inf", "soon", "99999999h"})
    EXPECT_FALSE(ParseWindow(text).ok()) << text;
}

}  // namespace
}  // namespace stallscope::cli
