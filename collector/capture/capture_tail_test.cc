#include "collector/capture/capture_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "collector/capture/block.h"
#include "collector/capture/capture.h"
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

std::string Hello() {
  v1::Frame frame;
  frame.mutable_hello()->set_version_major(1);
  frame.mutable_hello()->set_pid(11);
  return frame.SerializeAsString();
}

std::string Waits(int count) {
  v1::Frame frame;
  frame.mutable_batch()->set_thread(1);
  frame.mutable_batch()->set_base_ns(1000);
  for (int i = 0; i < count; ++i) {
    frame.mutable_batch()->mutable_waits()->add_begin_delta_ns(100 + i);
    frame.mutable_batch()->mutable_waits()->add_duration_ns(50);
  }
  return frame.SerializeAsString();
}

class CaptureTailTest : public ::testing::Test {
 protected:
  CaptureTailTest()
      : path(::testing::TempDir() + "/tail-" + std::to_string(getpid()) + ".stallcap"),
        tail_path(capture::TailPath(path)) {}
  ~CaptureTailTest() override {
    unlink(path.c_str());
    unlink(tail_path.c_str());
  }

  void Create() {
    auto created = CaptureWriter::Create(path);
    ASSERT_TRUE(created.ok()) << created.status();
    writer = *std::move(created);
  }
  void Append(const std::string& frame) { writer->AppendSerialized(1, frame, 1000); }
  // The writer's files as a kill at this moment leaves them; the writer itself then ends as usual.
  void Kill() {
    const std::string file = ReadFile(path), tail = ReadFile(tail_path);
    writer.reset();
    WriteFile(path, file);
    WriteFile(tail_path, tail);
  }
  // 3 waits in the file's only block, then 4, 5 and 6 in the tail.
  void WriteAndKill() {
    Create();
    Append(Hello());
    Append(Waits(3));
    writer->Commit();
    writer->Flush();
    for (const int count : {4, 5, 6}) {
      Append(Waits(count));
      writer->Commit();
    }
    Kill();
  }
  CaptureSummary Read() {
    ingest::EventLogs logs;
    auto summary = ReadCapture(path, &logs);
    EXPECT_TRUE(summary.ok()) << summary.status();
    return summary.ok() ? *summary : CaptureSummary();
  }

  const std::string path, tail_path;
  std::unique_ptr<CaptureWriter> writer;
};

TEST_F(CaptureTailTest, WriterIsKilled_NothingCommittedIsLost) {
  WriteAndKill();
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 18u);
  EXPECT_EQ(summary.tail_events, 15u);
  EXPECT_EQ(summary.blocks, 1u);
  EXPECT_TRUE(summary.truncated);
  EXPECT_THAT(summary.warning, HasSubstr("the collector was killed"));
  EXPECT_THAT(summary.warning, HasSubstr("15 events were recovered from " + tail_path));
}

TEST_F(CaptureTailTest, RealProcessIsKilled_NothingCommittedIsLost) {
  const pid_t child = fork();
  if (child == 0) {
    Create();
    Append(Hello());
    // Several blocks, so that the tail has begun anew more than once.
    for (int i = 0; i < 20000; ++i) {
      Append(Waits(20));
      writer->Commit();
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 400000u);
  EXPECT_GT(summary.blocks, 2u);
  EXPECT_GT(summary.tail_events, 1000u);
  EXPECT_THAT(summary.warning, ::testing::ContainsRegex(" [0-9]+,[0-9][0-9][0-9] events were recovered"));
  EXPECT_THAT(summary.warning, HasSubstr("was killed"));
}

TEST_F(CaptureTailTest, WriterIsKilledInsideABlock_TheTailHasThatBlock) {
  WriteAndKill();
  WriteFile(path, ReadFile(path) + "BLK1 and a part of it");
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 18u);
  EXPECT_THAT(summary.warning, HasSubstr("15 events were recovered"));
  EXPECT_THAT(summary.warning, ::testing::Not(HasSubstr("damaged")));
}

TEST_F(CaptureTailTest, FirstBlockNotYetWritten_AllComesFromTheTail) {
  Create();
  Append(Hello());
  Append(Waits(3));
  writer->Commit();
  Kill();
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 3u);
  EXPECT_EQ(summary.tail_events, 3u);
}

TEST_F(CaptureTailTest, StillBeingWritten_IsReadUpToTheLastCommit) {
  Create();
  Append(Hello());
  Append(Waits(3));
  writer->Flush();
  Append(Waits(4));
  writer->Commit();
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 7u);
  EXPECT_THAT(summary.warning, HasSubstr("is still being written: all 7 events until now are shown"));
}

TEST_F(CaptureTailTest, FileWasMovedWithoutIt_IsSaid) {
  WriteAndKill();
  unlink(tail_path.c_str());
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 3u);
  EXPECT_THAT(summary.warning, HasSubstr("no " + tail_path + " is there"));
}

TEST_F(CaptureTailTest, Close_RemovesIt) {
  Create();
  Append(Hello());
  Append(Waits(3));
  writer->Commit();
  EXPECT_EQ(access(tail_path.c_str(), F_OK), 0);
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_NE(access(tail_path.c_str(), F_OK), 0);
  EXPECT_EQ(Read().warning, "");
}

TEST_F(CaptureTailTest, FileHasTheBlockToo_IsNotReadTwice) {
  Create();
  Append(Hello());
  Append(Waits(3));
  writer->Commit();
  writer->Flush();
  Kill();
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 3u);
  EXPECT_EQ(summary.tail_events, 0u);
  EXPECT_THAT(summary.warning, HasSubstr("its writer was killed"));
  EXPECT_THAT(summary.warning, ::testing::Not(HasSubstr("ignored")));
}

TEST_F(CaptureTailTest, FileIsComplete_IsIgnored) {
  WriteAndKill();
  const std::string tail = ReadFile(tail_path);
  Create();
  Append(Hello());
  ASSERT_TRUE(writer->Close().ok());
  WriteFile(tail_path, tail);
  EXPECT_EQ(Read().events, 0u);
  EXPECT_EQ(Read().warning, "");
}

TEST_F(CaptureTailTest, NextBlockIsShorter_OldFramesBehindItAreNotTaken) {
  Create();
  Append(Hello());
  for (const int count : {9, 8, 7}) {
    Append(Waits(count));
    writer->Commit();
  }
  writer->Flush();
  Append(Waits(1));
  writer->Commit();
  Kill();
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 25u);
  EXPECT_EQ(summary.tail_events, 1u);
  EXPECT_THAT(summary.warning, ::testing::Not(HasSubstr("not whole")));
}

TEST_F(CaptureTailTest, SameLengthAsTheOldBlock_EndsAtItsMark) {
  // The old raw block behind the new one is whole, and only the mark between (and its number) says that it is old.
  Create();
  Append(Hello());
  writer->Commit();
  writer->Flush();
  for (int block = 0; block < 2; ++block) {
    for (int i = 0; i < 3 - 2 * block; ++i) {
      Append(Waits(4));
      writer->Commit();
    }
    if (block == 0) writer->Flush();
  }
  Kill();
  EXPECT_EQ(Read().tail_events, 4u);
  EXPECT_EQ(Read().events, 16u);
  // A kill may leave the new frames without the mark.
  std::string tail = ReadFile(tail_path);
  const size_t second = capture::kFileHeaderBytes + capture::kBlockHeaderBytes + capture::GetLittle32(&tail[20]);
  tail.replace(second, 4, "RAW1");
  WriteFile(tail_path, tail);
  EXPECT_EQ(Read().events, 16u);
}

TEST_F(CaptureTailTest, CutAtEveryByte_IsReadUpToItsLastWholeRawBlock) {
  WriteAndKill();
  const std::string whole = ReadFile(tail_path);
  std::vector<size_t> ends;  // of the raw blocks
  for (size_t at = capture::kFileHeaderBytes; capture::GetLittle32(&whole[at]) == capture::kRawBlockMagic;) {
    at += capture::kBlockHeaderBytes + capture::GetLittle32(&whole[at + 4]);
    ends.push_back(at);
  }
  ASSERT_EQ(ends.size(), 3u);
  ASSERT_EQ(ends.back() + 4, whole.size());
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    WriteFile(tail_path, whole.substr(0, cut));
    const CaptureSummary summary = Read();
    uint64_t expected = 0;
    for (size_t block = 0; block < 3; ++block) expected += ends[block] <= cut ? 4 + block : 0;
    EXPECT_EQ(summary.tail_events, expected) << cut;
    EXPECT_EQ(summary.events, 3 + expected) << cut;
    EXPECT_NE(summary.warning, "") << cut;
    if (cut <= capture::kFileHeaderBytes) continue;
    EXPECT_THAT(summary.warning, HasSubstr("not whole")) << cut;
  }
}

TEST_F(CaptureTailTest, EveryByteFlipped_GivesNoEventThatWasNotThere) {
  WriteAndKill();
  const std::string whole = ReadFile(tail_path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    WriteFile(tail_path, damaged);
    const CaptureSummary summary = Read();
    EXPECT_THAT(summary.events, ::testing::AnyOf(3u, 7u, 12u, 18u)) << at;
    EXPECT_NE(summary.warning, "") << at;
  }
}

TEST_F(CaptureTailTest, Foreign_IsIgnoredAndSaid) {
  WriteAndKill();
  const std::string own = ReadFile(tail_path);
  std::string of_another_capture = own, of_another_major = own;
  of_another_capture[12] = static_cast<char>(of_another_capture[12] + 1);
  of_another_major[8] = 9;
  for (const auto& [tail, why] :
       {std::pair<std::string, std::string>{"my diary", "not the tail of a Stallscope capture"},
        {of_another_capture, "belongs to another capture"},
        {of_another_major, "format 9.0"}}) {
    WriteFile(tail_path, tail);
    const CaptureSummary summary = Read();
    EXPECT_EQ(summary.events, 3u) << why;
    EXPECT_THAT(summary.warning, HasSubstr(tail_path + " was ignored"));
    EXPECT_THAT(summary.warning, HasSubstr(why));
  }
}

TEST_F(CaptureTailTest, PipeInItsPlace_IsIgnoredAndNotWaitedFor) {
  WriteAndKill();
  unlink(tail_path.c_str());
  ASSERT_EQ(mkfifo(tail_path.c_str(), 0600), 0);
  EXPECT_THAT(Read().warning, HasSubstr("not a regular file"));
}

TEST_F(CaptureTailTest, FileLostItsLastBlock_TheTailIsNotPutInItsPlace) {
  WriteAndKill();
  WriteFile(path, ReadFile(path).substr(0, capture::kFileHeaderBytes));
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, 0u);
  EXPECT_THAT(summary.warning, HasSubstr("it continues block 1 of the file, which cannot be read"));
}

TEST_F(CaptureTailTest, SecondWriterOfOneCapture_IsRefusedAndHarmsNothing) {
  Create();
  Append(Hello());
  Append(Waits(3));
  writer->Commit();
  const absl::Status second = CaptureWriter::Create(path).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another collector is writing capture " + path));
  Append(Waits(4));
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(Read().events, 7u);
}

TEST_F(CaptureTailTest, SomebodysFileInItsPlace_IsNotOverwritten) {
  WriteFile(tail_path, "my diary");
  const absl::Status refused = CaptureWriter::Create(path).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(tail_path));
  EXPECT_EQ(ReadFile(tail_path), "my diary");
}

TEST_F(CaptureTailTest, LeftByAKilledWriter_IsReplaced) {
  WriteAndKill();
  Create();
  Append(Hello());
  Append(Waits(2));
  writer->Commit();
  Kill();
  EXPECT_EQ(Read().events, 2u);
}

TEST_F(CaptureTailTest, DeviceAsCapture_HasNone) {
  auto device = CaptureWriter::Create("/dev/null");
  ASSERT_TRUE(device.ok());
  (*device)->AppendSerialized(1, Hello(), 0);
  (*device)->Commit();
  EXPECT_NE(access("/dev/null.tail", F_OK), 0);
}

// RLIMIT_FSIZE acts like a disk on which neither file may pass 16 KiB.
TEST_F(CaptureTailTest, TailMayNotGrow_TheCaptureGoesOnInSmallerBlocks) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{16 * 1024, before.rlim_max};
  Create();
  setrlimit(RLIMIT_FSIZE, &small);
  Append(Hello());
  uint64_t committed = 0, appended = 0;
  for (int i = 0; i < 200; ++i) {
    Append(Waits(100));
    appended += 100;
    writer->Commit();
    if (writer->status().ok()) committed = appended;
  }
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(writer->status().ok()) << writer->status();
  Kill();
  EXPECT_EQ(Read().events, committed);
  EXPECT_GT(Read().blocks, 1u);
}

TEST_F(CaptureTailTest, NeitherFileMayGrow_StopsAndKeepsWhatWasCommittedBefore) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{2 * 1024, before.rlim_max};
  Create();
  setrlimit(RLIMIT_FSIZE, &small);
  Append(Hello());
  uint64_t committed = 0, appended = 0;
  for (int i = 0; i < 2000 && writer->status().ok(); ++i) {
    Append(Waits(10 + i % 7));
    appended += 10 + i % 7;
    writer->Commit();
    if (writer->status().ok()) committed = appended;
  }
  const absl::Status closed = writer->Close();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(closed.code(), absl::StatusCode::kResourceExhausted);
  const CaptureSummary summary = Read();
  EXPECT_EQ(summary.events, committed);
  EXPECT_THAT(summary.warning, HasSubstr("its disk was full"));
}

}  // namespace
}  // namespace stallscope
