#include "collector/ingest/frame_splitter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "collector/ingest/limits.h"

namespace stallscope::ingest {
namespace {

std::string Framed(const std::string& frame) {
  const uint32_t bytes = static_cast<uint32_t>(frame.size());
  std::string out(reinterpret_cast<const char*>(&bytes), 4);
  return out + frame;
}

void Feed(FrameSplitter* splitter, std::string_view bytes) {
  while (!bytes.empty()) {
    const FrameSplitter::Space space = splitter->Prepare();
    const size_t count = std::min(space.bytes, bytes.size());
    memcpy(space.data, bytes.data(), count);
    splitter->Commit(count);
    bytes.remove_prefix(count);
  }
}

TEST(FrameSplitter, ByteByByte_YieldsTheSameFrames) {
  FrameSplitter splitter;
  std::vector<std::string> frames;
  for (const char byte : Framed("hello") + Framed("") + Framed("world")) {
    Feed(&splitter, std::string_view(&byte, 1));
    auto next = splitter.Next();
    ASSERT_TRUE(next.ok());
    if (next->has_value()) frames.emplace_back(**next);
  }
  EXPECT_EQ(frames, (std::vector<std::string>{"hello", "", "world"}));
  EXPECT_EQ(splitter.pending(), 0u);
}

TEST(FrameSplitter, LargestFrame_Passes) {
  FrameSplitter splitter;
  const std::string frame(kMaxFrameBytes, 'x');
  const std::string bytes = Framed(frame);
  size_t fed = 0;
  while (true) {
    auto next = splitter.Next();
    ASSERT_TRUE(next.ok());
    if (next->has_value()) {
      EXPECT_EQ(**next, frame);
      break;
    }
    ASSERT_LT(fed, bytes.size());
    const FrameSplitter::Space space = splitter.Prepare();
    const size_t count = std::min(space.bytes, bytes.size() - fed);
    memcpy(space.data, bytes.data() + fed, count);
    splitter.Commit(count);
    fed += count;
  }
}

TEST(FrameSplitter, LengthPastTheLimit_IsRefusedAtOnce) {
  FrameSplitter splitter;
  Feed(&splitter, "\xff\xff\xff\xff");
  EXPECT_EQ(splitter.Next().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FrameSplitter, PromisedLength_DoesNotGrowTheBuffer) {
  FrameSplitter splitter;
  const uint32_t promise = kMaxFrameBytes;
  Feed(&splitter, std::string_view(reinterpret_cast<const char*>(&promise), 4));
  ASSERT_TRUE(splitter.Next().ok());
  EXPECT_LE(splitter.Prepare().bytes, 256u * 1024);
}

}  // namespace
}  // namespace stallscope::ingest
