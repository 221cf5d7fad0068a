#include "tools/cli/window_option.h"

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

TEST(ParseWindow, UnitsAndAll) {
  EXPECT_EQ(*ParseWindow("10s"), 10'000'000'000);
  EXPECT_EQ(*ParseWindow("2000ms"), 2'000'000'000);
  EXPECT_EQ(*ParseWindow("5m"), 300'000'000'000);
  EXPECT_EQ(*ParseWindow("all"), 0);
}

TEST(ParseWindow, WhatTheSumsCannotAnswer_IsRefusedAndNotRounded) {
  for (const char* text : {"500ms", "1.5s", "1ns", "301s", "1h"}) EXPECT_FALSE(ParseWindow(text).ok()) << text;
}

TEST(ParseWindow, WhatIsNoLength_IsRefused) {
  for (const char* text : {"", "10", "-1s", "0s", "inf", "soon", "99999999h"})
    EXPECT_FALSE(ParseWindow(text).ok()) << text;
}

}  // namespace
}  // namespace stallscope::cli
