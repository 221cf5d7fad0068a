// The bytes of each kind of frame and of each kind of ring record, and the events they mean. A change of either would
// make released agents or stored captures unreadable.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include "collector/ingest/event_log.h"
#include "collector/ingest/process_stream.h"
#include "collector/ingest/ring_drain.h"
#include "collector/ingest/shm_builder.h"
#include "tests/golden/golden_file.h"
#include "tests/golden/sample_frames.h"

namespace stallscope::golden {
namespace {

constexpr const char* kFramesFile = "frames.txt";
constexpr const char* kRecordsFile = "records.txt";

std::string ToHex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex += kDigits[static_cast<uint8_t>(byte) >> 4];
    hex += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return hex;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

struct Entry {
  std::string name, hex;
  std::vector<std::string> events;
};

// name, hex, then two blanks and an event on each line.
std::vector<Entry> ParseEntries(const std::string& text) {
  std::vector<Entry> entries;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("  ", 0) == 0) {
      entries.back().events.push_back(line.substr(2));
    } else if (!line.empty()) {
      const size_t blank = line.find(' ');
      entries.push_back({line.substr(0, blank), line.substr(blank + 1), {}});
    }
  }
  return entries;
}

std::string PrintEntries(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    text += entry.name + " " + entry.hex + "\n";
    for (const std::string& event : entry.events) text += "  " + event + "\n";
  }
  return text;
}

// Feeds the frames in order and notes which events each one makes.
void DecodeFrames(std::vector<Entry>* entries) {
  v1::Frame hello;
  ASSERT_TRUE(hello.ParseFromString(FromHex(entries->front().hex)));
  ingest::ProcessStream process(1, hello.hello());
  ingest::EventLog log(&process.registry());
  process.SetSink(&log);
  for (Entry& entry : *entries) {
    v1::Frame frame;
    ASSERT_TRUE(frame.ParseFromString(FromHex(entry.hex))) << entry.name;
    const size_t before = log.lines().size();
    ASSERT_TRUE(process.OnFrame(frame).ok()) << entry.name;
    entry.events.assign(log.lines().begin() + static_cast<long>(before), log.lines().end());
  }
}

TEST(GoldenFrames, StoredBytes_MeanTheSameEvents) {
  std::vector<Entry> current;
  for (const auto& [name, frame] : SampleFrames()) current.push_back({name, ToHex(frame.SerializeAsString()), {}});
  DecodeFrames(&current);
  if (Updating()) {
    ASSERT_TRUE(Write(kFramesFile, PrintEntries(current)));
    return;
  }
  const std::vector<Entry> stored = ParseEntries(Read(kFramesFile));
  ASSERT_FALSE(stored.empty());
  std::vector<Entry> decoded = stored;
  DecodeFrames(&decoded);
  for (size_t i = 0; i < stored.size(); ++i) EXPECT_EQ(decoded[i].events, stored[i].events) << stored[i].name;
  EXPECT_EQ(PrintEntries(current), PrintEntries(stored)) << kHowToAccept;
}

// A record of each kind with every field set, as the agent lays it into a ring.
std::vector<std::pair<std::string, ingest::RawRecord>> SampleRecords() {
  ingest::RawRecord wait;
  wait.kind = wire::RecordKind::kWait;
  wait.begin = 1000;
  wait.duration = 250;
  wait.object = 0x7f5aa0001000;
  wait.argument = 5'000'000;
  wait.detail = 3;
  wait.stack = 9;
  wait.call = static_cast<uint16_t>(wire::OsCall::kEpollWait);
  wait.result = -4;
  ingest::RawRecord wake;
  wake.kind = wire::RecordKind::kWake;
  wake.begin = 1300;
  wake.object = wire::FdObject(12);
  wake.argument = 41830;
  wake.detail = 9;
  wake.stack = 2;
  wake.call = static_cast<uint16_t>(wire::OsCall::kEventfdWrite);
  ingest::RawRecord call;
  call.kind = wire::RecordKind::kCudaCall;
  call.begin = 1400;
  call.duration = 60;
  call.object = 0x55d0c0de0040;
  call.argument = 0x55d0c0de0080;
  call.detail = wire::PackCudaDetail(wire::CudaCallClass::kGraphLaunch, wire::CudaDomain::kDriver,
                                     wire::CopyKind::kUnknown, wire::kCudaFlagCapturing);
  call.id = 77;
  call.stack = 3;
  call.call = 311;
  call.result = 719;
  ingest::RawRecord op;
  op.kind = wire::RecordKind::kGpuOp;
  op.begin = 5'000'009'000;
  op.duration = 55'000;
  op.object = 1 | uint64_t{2} << 32;
  op.argument = 12;
  op.detail = wire::PackGpuDetail(3, wire::CopyKind::kDeviceToHost, 2, 3, 17);
  op.id = 77;
  op.stack = 7;
  op.call = static_cast<uint16_t>(wire::GpuOpKind::kKernel);
  op.result = 1;
  ingest::RawRecord range;
  range.kind = wire::RecordKind::kRange;
  range.begin = 1500;
  range.duration = 40;
  range.object = 1;
  range.argument = 32;
  range.detail = 1;
  range.id = 5;
  range.call = static_cast<uint16_t>(wire::RangeKind::kStepMarker);
  ingest::RawRecord memory;
  memory.kind = wire::RecordKind::kMemory;
  memory.begin = 5'000'012'000;
  memory.object = 0x7f5ac0000000;
  memory.argument = 1 << 20;
  memory.detail = 0x55d0c0de0100;
  memory.id = 78;
  memory.stack = wire::PackMemoryPlace(3, 1, wire::kMemoryFlagAsync);
  memory.call = static_cast<uint16_t>(wire::MemoryOperation::kAllocate);
  ingest::RawRecord load;
  load.kind = wire::RecordKind::kCodeLoad;
  load.begin = 5'000'013'000;
  load.duration = 4'000'000;
  load.argument = 65'536;
  load.id = 79;
  load.stack = 41822;
  load.call = static_cast<uint16_t>(wire::CodeLoadKind::kJitCompile);
  return {{"wait", wait},   {"wake", wake},     {"cuda_call", call}, {"gpu_op", op},
          {"range", range}, {"memory", memory}, {"code_load", load}};
}

// The events of one record's 64 bytes, lying at index 0 of a ring.
std::vector<std::string> DecodeRecord(const std::string& bytes) {
  ingest::ShmBuilder memory;
  memory.SetClock(0, 5'000'000'000, 2, 0);
  memory.AddString("gemm");
  memory.AddString(std::string(24, '\1'));
  memory.TakeSlot(0, 100, 10, "main");
  memcpy(static_cast<void*>(memory.record(0, 0)), bytes.data(), bytes.size());
  memory.slot(0)->head.store(1);
  v1::Hello hello;
  hello.set_version_major(1);
  ingest::ProcessStream process(1, hello);
  ingest::EventLog log(&process.registry());
  process.SetSink(&log);
  auto image = ingest::ShmImage::Map(memory.DuplicateFd());
  ingest::RingDrain drain(1, &process.registry(), image->get(),
                          [&process](const v1::Frame& frame) { EXPECT_TRUE(process.OnFrame(frame).ok()); });
  drain.DrainFinal();
  return {log.lines().begin() + 1, log.lines().end()};  // without the thread
}

TEST(GoldenRecords, StoredBytes_MeanTheSameEvents) {
  std::vector<Entry> current;
  for (const auto& [name, record] : SampleRecords()) {
    ingest::ShmBuilder memory;
    memory.TakeSlot(0, 100, 10, "main");
    memory.Commit(0, record);
    const std::string bytes(reinterpret_cast<const char*>(memory.record(0, 0)), sizeof(wire::Record));
    current.push_back({name, ToHex(bytes), DecodeRecord(bytes)});
  }
  if (Updating()) {
    ASSERT_TRUE(Write(kRecordsFile, PrintEntries(current)));
    return;
  }
  const std::vector<Entry> stored = ParseEntries(Read(kRecordsFile));
  ASSERT_FALSE(stored.empty());
  for (const Entry& entry : stored) EXPECT_EQ(DecodeRecord(FromHex(entry.hex)), entry.events) << entry.name;
  EXPECT_EQ(PrintEntries(current), PrintEntries(stored)) << kHowToAccept;
}

}  // namespace
}  // namespace stallscope::golden
