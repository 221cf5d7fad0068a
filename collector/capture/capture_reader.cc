#include <google/protobuf/arena.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/capture/block.h"
#include "collector/capture/capture.h"
#include "collector/capture/capture_file.h"
#include "collector/capture/format.h"
#include "collector/ingest/limits.h"
#include "collector/ingest/process_stream.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr size_t kMaxProcesses = 4096;

class CaptureReader {
 public:
  explicit CaptureReader(ProcessSink* sink) : sink_(sink) {}

  absl::StatusOr<CaptureSummary> Read(const std::string& path) {
    absl::StatusOr<capture::CaptureFile> file = capture::CaptureFile::Open(path);
    if (!file.ok()) return file.status();
    summary_.file_bytes = file->bytes();
    ReadBlocks(*file);
    for (const auto& [number, process] : processes_) summary_.events += process->counts().events;
    Warn(path);
    return summary_;
  }

 private:
  void ReadBlocks(const capture::CaptureFile& file) {
    uint64_t offset = capture::kFileHeaderBytes;
    summary_.readable_bytes = offset;
    summary_.truncated = true;  // until the index is met
    std::string header_bytes, stored, raw;
    while (file.ReadAt(offset, capture::kBlockHeaderBytes, &header_bytes)) {
      const auto header = capture::ParseBlockHeader(header_bytes);
      if (!header || !file.ReadAt(offset + capture::kBlockHeaderBytes, header->stored_bytes, &stored)) return;
      if (!capture::CheckBlock(*header, header_bytes, stored)) return;
      const uint64_t next = offset + capture::kBlockHeaderBytes + header->stored_bytes;
      if (header->magic == capture::kIndexMagic) {
        summary_.truncated = file.bytes() < next + capture::kTrailerBytes;
        summary_.readable_bytes = std::min(file.bytes(), next + capture::kTrailerBytes);
        return;
      }
      if (!capture::DecompressBlock(*header, stored, &raw)) return;
      ++summary_.blocks;
      ReadFrames(raw);
      offset = summary_.readable_bytes = next;
    }
  }

  void ReadFrames(std::string_view raw) {
    while (raw.size() >= 4) {
      const uint32_t frame_bytes = capture::GetLittle32(raw.data());
      if (frame_bytes > raw.size() - 4 || frame_bytes > ingest::kMaxFrameBytes + 8) {
        ++refused_frames_;
        return;
      }
      ReadFrame(raw.substr(4, frame_bytes));
      raw.remove_prefix(4 + frame_bytes);
    }
  }

  void ReadFrame(std::string_view bytes) {
    ++summary_.frames;
    arena_.Reset();
    auto* frame = google::protobuf::Arena::CreateMessage<v1::Frame>(&arena_);
    if (!frame->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      ++refused_frames_;
      return;
    }
    auto known = processes_.find(frame->process());
    if (known == processes_.end()) {
      if (!frame->has_hello() || processes_.size() >= kMaxProcesses || !ingest::CheckHello(frame->hello()).ok()) {
        if (frame->body_case() != v1::Frame::BODY_NOT_SET) ++refused_frames_;
        return;
      }
      auto process = std::make_shared<ingest::ProcessStream>(frame->process(), frame->hello());
      sink_->KeepAlive(process);
      process->SetSink(sink_->OnProcess(process->info(), &process->registry()));
      processes_.emplace(frame->process(), std::move(process));
      return;
    }
    if (!known->second->OnFrame(*frame).ok()) ++refused_frames_;
  }

  void Warn(const std::string& path) {
    std::vector<std::string> parts;
    if (summary_.truncated) {
      const uint64_t rest = summary_.file_bytes - summary_.readable_bytes;
      if (rest > 0) {
        parts.push_back(
            absl::StrFormat("%s is cut or damaged at %.1f MB: the %d whole blocks before it (%d frames) are shown",
                            path, summary_.readable_bytes / 1e6, summary_.blocks, summary_.frames));
      } else {
        parts.push_back(
            absl::StrFormat("%s was not closed (still being written, or its writer was killed): all %d blocks (%d "
                            "frames) are whole and shown",
                            path, summary_.blocks, summary_.frames));
      }
    }
    if (refused_frames_ > 0) {
      parts.push_back(absl::StrCat(parts.empty() ? path + ": " : "", refused_frames_,
                                   " frames could not be read and were skipped"));
    }
    summary_.warning = absl::StrJoin(parts, "; ");
  }

  ProcessSink* const sink_;
  CaptureSummary summary_;
  uint64_t refused_frames_ = 0;
  google::protobuf::Arena arena_;
  std::map<uint32_t, std::shared_ptr<ingest::ProcessStream>> processes_;
};

}  // namespace

absl::StatusOr<CaptureSummary> ReadCapture(const std::string& path, ProcessSink* sink) {
  return CaptureReader(sink).Read(path);
}

}  // namespace stallscope
