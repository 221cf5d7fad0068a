#include "agent/stream/control.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::agent {
namespace {

bool Parse(const std::string& bytes, ControlRequest* request) {
  return ParseControlFrame(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), request);
}

TEST(Control, EveryField_IsRead) {
  v1::Frame frame;
  v1::Control* control = frame.mutable_control();
  control->set_level(2);
  control->set_wait_threshold_ns(5000);
  control->set_stacks(true);
  control->set_cost_limit_ppm(10'000);
  control->set_node_window_ms(250);
  control->set_flush(true);
  control->set_detach(true);
  ControlRequest request;
  ASSERT_TRUE(Parse(frame.SerializeAsString(), &request));
  EXPECT_TRUE(request.has_level && request.has_threshold && request.has_stacks);
  EXPECT_EQ(request.level, 2u);
  EXPECT_EQ(request.wait_threshold_ns, 5000u);
  EXPECT_TRUE(request.stacks && request.flush && request.detach);
  EXPECT_EQ(request.cost_limit_ppm, 10'000u);
  EXPECT_EQ(request.node_window_ms, 250u);
  EXPECT_FALSE(request.refused);
}

TEST(Control, Refusal_IsRead) {
  v1::Frame frame;
  frame.mutable_control()->set_refused("version 2, this collector speaks 1");
  ControlRequest request;
  ASSERT_TRUE(Parse(frame.SerializeAsString(), &request));
  EXPECT_TRUE(request.refused);
  EXPECT_STREQ(request.refusal, "version 2, this collector speaks 1");
}

TEST(Control, LongRefusal_IsCut) {
  v1::Frame frame;
  frame.mutable_control()->set_refused(std::string(5000, 'x'));
  ControlRequest request;
  ASSERT_TRUE(Parse(frame.SerializeAsString(), &request));
  EXPECT_EQ(std::string(request.refusal).size(), sizeof(request.refusal) - 1);
}

TEST(Control, LevelOutOfRange_AsksForNothing) {
  v1::Frame frame;
  frame.mutable_control()->set_level(200);
  ControlRequest request;
  ASSERT_TRUE(Parse(frame.SerializeAsString(), &request));
  EXPECT_FALSE(request.has_level);
}

TEST(Control, OtherFrame_IsNoControl) {
  v1::Frame frame;
  frame.mutable_goodbye()->set_monotonic_ns(5);
  ControlRequest request;
  EXPECT_FALSE(Parse(frame.SerializeAsString(), &request));
}

TEST(Control, CutAnywhere_IsRefusedOrHarmless) {
  v1::Frame frame;
  frame.mutable_control()->set_level(3);
  frame.mutable_control()->set_wait_threshold_ns(1'000'000);
  frame.mutable_control()->set_refused("no");
  const std::string whole = frame.SerializeAsString();
  for (size_t length = 0; length < whole.size(); ++length) {
    ControlRequest request;
    EXPECT_FALSE(Parse(whole.substr(0, length), &request)) << length;
  }
}

TEST(Control, Noise_DoesNoHarm) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (!bytes.empty() && trial % 2 == 0) bytes[0] = 7 << 3 | 2;
    ControlRequest request;
    Parse(bytes, &request);
    EXPECT_LE(request.level, 3u);
  }
}

}  // namespace
}  // namespace stallscope::agent
