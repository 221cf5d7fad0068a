#include "collector/capture/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "collector/capture/block.h"
#include "collector/capture/capture_index.h"
#include "collector/capture/format.h"
#include "collector/ingest/event_log.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  unlink(path.c_str());  // ext4 waits for the disk when a file is written after it was emptied
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

v1::Frame HelloFrame(uint32_t process, uint32_t pid) {
  v1::Frame frame;
  frame.set_process(process);
  frame.mutable_hello()->set_version_major(1);
  frame.mutable_hello()->set_pid(pid);
  return frame;
}

v1::Frame WaitFrame(uint32_t process, uint64_t base_ns, int waits) {
  v1::Frame frame;
  frame.set_process(process);
  frame.mutable_batch()->set_thread(1);
  frame.mutable_batch()->set_base_ns(base_ns);
  for (int i = 0; i < waits; ++i) {
    frame.mutable_batch()->mutable_waits()->add_begin_delta_ns(100 + i);
    frame.mutable_batch()->mutable_waits()->add_duration_ns(50);
  }
  return frame;
}

class CaptureTest : public ::testing::Test {
 protected:
  CaptureTest() : path(::testing::TempDir() + "/" + std::to_string(getpid()) + ".stallcap") {}
  ~CaptureTest() override { unlink(path.c_str()); }

  // Three blocks, two processes, 5 + 6 + 7 waits.
  void WriteSmall() {
    auto writer = CaptureWriter::Create(path);
    ASSERT_TRUE(writer.ok()) << writer.status();
    (*writer)->Append(HelloFrame(1, 11));
    (*writer)->Append(WaitFrame(1, 1000, 5));
    (*writer)->Flush();
    (*writer)->Append(HelloFrame(2, 22));
    (*writer)->Append(WaitFrame(2, 2000, 6));
    (*writer)->Flush();
    (*writer)->Append(WaitFrame(1, 3000, 7));
    ASSERT_TRUE((*writer)->Close().ok());
    EXPECT_EQ((*writer)->bytes_written(), ReadFile(path).size());
  }

  const std::string path;
};

TEST_F(CaptureTest, WhatWasWritten_IsReadBack) {
  WriteSmall();
  ingest::EventLogs logs;
  auto summary = ReadCapture(path, &logs);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_FALSE(summary->truncated);
  EXPECT_EQ(summary->warning, "");
  EXPECT_EQ(summary->events, 18u);
  EXPECT_EQ(summary->frames, 5u);
  EXPECT_EQ(summary->blocks, 3u);
  EXPECT_EQ(summary->readable_bytes, summary->file_bytes);
  ASSERT_EQ(logs.logs.size(), 2u);
  EXPECT_EQ(logs.infos[1].identity.pid, 22u);
  EXPECT_EQ(logs.logs[0]->lines().size(), 12u);
  EXPECT_EQ(logs.logs[1]->lines().size(), 6u);
}

TEST_F(CaptureTest, Reading_TellsHowFarItIsAndWhoIsInIt) {
  WriteSmall();
  ingest::EventLogs logs;
  std::vector<uint64_t> read_bytes;
  const uint64_t whole_bytes = ReadFile(path).size();
  auto summary = ReadCapture(path, &logs, [&](uint64_t read, uint64_t file_bytes) {
    EXPECT_EQ(file_bytes, whole_bytes);
    read_bytes.push_back(read);
  });
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(read_bytes.size(), 3u);
  EXPECT_LT(read_bytes[0], read_bytes[1]);
  EXPECT_LT(read_bytes[1], read_bytes[2]);
  EXPECT_LT(read_bytes[2], whole_bytes) << "the index follows";
  EXPECT_EQ(summary->pids, (std::vector<uint32_t>{11, 22}));
}

TEST_F(CaptureTest, SerializedFrame_GetsItsProcessAndKeepsUnknownFields) {
  {
    auto writer = CaptureWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    (*writer)->AppendSerialized(300, HelloFrame(0, 33).SerializeAsString() + std::string("\xd2\x09\x01\x07", 4), 0);
    (*writer)->AppendSerialized(300, WaitFrame(0, 1000, 2).SerializeAsString(), 1000);
  }
  ingest::EventLogs logs;
  auto summary = ReadCapture(path, &logs);
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(logs.infos.size(), 1u);
  EXPECT_EQ(logs.infos[0].process, 300u);
  EXPECT_EQ(logs.logs[0]->lines().size(), 2u);
  auto index = capture::LoadCaptureIndex(path);
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->blocks.at(0).first_ns, 1000u);
}

TEST_F(CaptureTest, CutAtEveryByte_IsReadableUpToTheLastWholeBlock) {
  WriteSmall();
  const std::string whole = ReadFile(path);
  auto index = capture::LoadCaptureIndex(path);
  ASSERT_TRUE(index.ok());
  ASSERT_EQ(index->blocks.size(), 3u);
  const uint64_t events_of_block[] = {5, 6, 7};
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    WriteFile(path, whole.substr(0, cut));
    ingest::EventLogs logs;
    auto summary = ReadCapture(path, &logs);
    if (cut < capture::kFileHeaderBytes) {
      EXPECT_EQ(summary.status().code(), absl::StatusCode::kInvalidArgument) << cut;
      continue;
    }
    ASSERT_TRUE(summary.ok()) << cut << " " << summary.status();
    uint64_t expected = 0, blocks = 0;
    for (size_t block = 0; block < 3; ++block) {
      const uint64_t end =
          block < 2 ? index->blocks[block + 1].offset : capture::GetLittle64(&whole[whole.size() - 16]);
      if (end <= cut) expected += events_of_block[block], ++blocks;
    }
    EXPECT_EQ(summary->events, expected) << cut;
    EXPECT_EQ(summary->blocks, blocks) << cut;
    EXPECT_TRUE(summary->truncated) << cut;
    EXPECT_NE(summary->warning, "") << cut;
    EXPECT_EQ(capture::LoadCaptureIndex(path)->blocks.size(), blocks) << cut;
  }
}

TEST_F(CaptureTest, EveryByteFlipped_IsNoticedOrHarmless) {
  WriteSmall();
  const std::string whole = ReadFile(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    WriteFile(path, damaged);
    ingest::EventLogs logs;
    auto summary = ReadCapture(path, &logs);
    if (!summary.ok() || summary->truncated) continue;
    EXPECT_EQ(summary->events, 18u) << at;
  }
}

TEST_F(CaptureTest, IndexMissing_IsRebuilt) {
  WriteSmall();
  auto written = capture::LoadCaptureIndex(path);
  ASSERT_TRUE(written.ok());
  EXPECT_FALSE(written->rebuilt);
  const std::string whole = ReadFile(path);
  WriteFile(path, whole.substr(0, whole.size() - 1));
  auto rebuilt = capture::LoadCaptureIndex(path);
  ASSERT_TRUE(rebuilt.ok());
  EXPECT_TRUE(rebuilt->rebuilt);
  ASSERT_EQ(rebuilt->blocks.size(), written->blocks.size());
  for (size_t i = 0; i < written->blocks.size(); ++i) EXPECT_EQ(rebuilt->blocks[i].offset, written->blocks[i].offset);
}

TEST_F(CaptureTest, ForeignFile_IsRefusedInOneLine) {
  WriteFile(path, "SQLite format 3\0 and much more than sixteen bytes");
  ingest::EventLogs logs;
  const absl::Status status = ReadCapture(path, &logs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a Stallscope capture"));
}

TEST_F(CaptureTest, OtherMajor_NamesBothVersions) {
  WriteSmall();
  std::string bytes = ReadFile(path);
  bytes[8] = 9;
  WriteFile(path, bytes);
  ingest::EventLogs logs;
  const absl::Status status = ReadCapture(path, &logs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("9.0"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.0"));
}

TEST_F(CaptureTest, NewerMinor_IsRead) {
  WriteSmall();
  std::string bytes = ReadFile(path);
  bytes[10] = 7;
  WriteFile(path, bytes);
  ingest::EventLogs logs;
  EXPECT_EQ(ReadCapture(path, &logs)->events, 18u);
}

TEST_F(CaptureTest, MissingFileAndFolder_SayWhich) {
  ingest::EventLogs logs;
  EXPECT_EQ(ReadCapture("/nonexistent/x.stallcap", &logs).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadCapture("/dev/null", &logs).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CaptureWriter::Create("/nonexistent/x.stallcap").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CaptureTest, FileMayNotGrow_KeepsWhatWasWrittenValid) {
  // RLIMIT_FSIZE acts like a disk that is full at 16 KiB, in the middle of a block.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{16 * 1024, before.rlim_max};
  auto writer = CaptureWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  setrlimit(RLIMIT_FSIZE, &small);
  (*writer)->Append(HelloFrame(1, 11));
  uint64_t waits = 0;
  uint64_t written_waits = 0;
  for (int block = 0; block < 2000 && (*writer)->status().ok(); ++block) {
    written_waits = waits;
    (*writer)->Append(WaitFrame(1, 1000 + block * 977, 20 + block % 7));
    waits += 20 + block % 7;
    (*writer)->Flush();
  }
  const absl::Status closed = (*writer)->Close();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(closed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(closed.message()), HasSubstr(path));
  EXPECT_EQ(ReadFile(path).size(), (*writer)->bytes_written());
  ingest::EventLogs logs;
  auto summary = ReadCapture(path, &logs);
  ASSERT_TRUE(summary.ok());
  EXPECT_GT(summary->events, 0u);
  EXPECT_EQ(summary->events, written_waits);
  EXPECT_EQ(summary->readable_bytes, summary->file_bytes);
}

TEST(CaptureWriter, DeviceThatIsFull_IsSaidAtOnce) {
  auto writer = CaptureWriter::Create("/dev/full");
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Crc32c, KnownValue) { EXPECT_EQ(capture::Crc32c("123456789"), 0xe3069283u); }

TEST(Crc32c, TwoPieces_AreOneText) { EXPECT_EQ(capture::Crc32c("1234", "56789"), capture::Crc32c("123456789")); }

}  // namespace
}  // namespace stallscope
