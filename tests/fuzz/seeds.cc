#include "tests/fuzz/seeds.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "collector/capture/capture.h"
#include "collector/ingest/shm_builder.h"
#include "tests/golden/sample_frames.h"

namespace stallscope::fuzz {

std::string SeedStream() {
  std::string bytes;
  for (const auto& [name, frame] : golden::SampleFrames()) {
    const std::string body = frame.SerializeAsString();
    const auto length = static_cast<uint32_t>(body.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes.append(body);
  }
  return bytes;
}

std::string SeedCapture() {
  const std::string path = "/tmp/stallscope-seed-" + std::to_string(getpid()) + ".stallcap";
  {
    auto writer = CaptureWriter::Create(path);
    int count = 0;
    for (auto& [name, frame] : golden::SampleFrames()) {
      v1::Frame stamped = frame;
      stamped.set_process(1);
      (*writer)->Append(stamped);
      if (++count % 5 == 0) (*writer)->Flush();
    }
  }
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  unlink(path.c_str());
  return bytes;
}

std::string SeedMemory() {
  ingest::ShmBuilder builder;
  builder.SetClock(1000, 5'000'000'000, 3, 1);
  builder.AddString("gemm");
  builder.AddString(std::string(24, '\1'));
  builder.TakeSlot(0, 100, 1000, "main");
  builder.TakeSlot(1, 101, 1000, "cupti");
  builder.slot(1)->big_ring_plus_one = 1;
  for (uint64_t i = 0; i < 40; ++i) {
    ingest::RawRecord record;
    record.kind = static_cast<wire::RecordKind>(1 + i % 5);
    record.begin = record.kind == wire::RecordKind::kGpuOp ? 5'000'100'000 + i * 1000 : 2000 + i * 100;
    record.duration = 50 + i;
    record.object =
        record.kind == wire::RecordKind::kGpuOp || record.kind == wire::RecordKind::kRange ? 1 : 0x7f00 + i % 3;
    record.call = static_cast<uint16_t>(1 + i % 3);
    record.detail = i % 20;
    record.id = static_cast<uint32_t>(i);
    builder.Commit(i % 2, record);
  }
  builder.Block(0, wire::RecordKind::kWait, 3, 0x7f00, 9000);
  return {reinterpret_cast<const char*>(builder.header()), builder.bytes()};
}

}  // namespace stallscope::fuzz
