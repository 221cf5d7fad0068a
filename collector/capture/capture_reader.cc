#include <google/protobuf/arena.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/capture/block.h"
#include "collector/capture/capture.h"
#include "collector/capture/capture_file.h"
#include "collector/capture/capture_tail.h"
#include "collector/capture/format.h"
#include "collector/ingest/limits.h"
#include "collector/ingest/process_stream.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr size_t kMaxProcesses = 4096;

std::string WithCommas(uint64_t number) {
  std::string text = absl::StrCat(number);
  for (size_t digits = 3; digits < text.size(); digits += 4) text.insert(text.size() - digits, 1, ',');
  return text;
}

class CaptureReader {
 public:
  CaptureReader(ProcessSink* sink, const ReadProgress& progress) : sink_(sink), progress_(progress) {}

  absl::StatusOr<CaptureSummary> Read(const std::string& path) {
    const capture::CaptureTail tail = capture::ReadTail(path);
    absl::StatusOr<capture::CaptureFile> file = capture::CaptureFile::Open(path);
    if (!file.ok()) return file.status();
    summary_.file_bytes = file->bytes();
    capture_number_ = file->capture_number();
    ReadBlocks(*file);
    const uint64_t events_of_blocks = Events();
    const TailUse use = UseOf(tail);
    if (use == TailUse::kTaken) ReadFrames(tail.frames);
    summary_.events = Events();
    summary_.tail_events = summary_.events - events_of_blocks;
    Warn(path, tail, use);
    return summary_;
  }

 private:
  enum class TailUse {
    kNone,      // there is none, or the file is complete without it
    kTaken,     // the file ends where the tail begins
    kOlder,     // the file has all that the tail has
    kUnusable,  // damaged, of another capture, or behind blocks that the file lacks
  };

  TailUse UseOf(const capture::CaptureTail& tail) const {
    using State = capture::CaptureTail::State;
    if (!summary_.truncated || tail.state == State::kAbsent) return TailUse::kNone;
    if (tail.state == State::kUnusable || tail.capture_number != capture_number_) return TailUse::kUnusable;
    if (tail.frames.empty() || tail.block < summary_.blocks) return TailUse::kOlder;
    return tail.block == summary_.blocks ? TailUse::kTaken : TailUse::kUnusable;
  }

  uint64_t Events() const {
    uint64_t events = 0;
    for (const auto& [number, process] : processes_) events += process->counts().events;
    return events;
  }

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
      if (progress_) progress_(next, file.bytes());
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
      summary_.pids.push_back(process->info().identity.pid);
      sink_->KeepAlive(process);
      process->SetSink(sink_->OnProcess(process->info(), &process->registry()));
      processes_.emplace(frame->process(), std::move(process));
      return;
    }
    if (!known->second->OnFrame(*frame).ok()) ++refused_frames_;
  }

  void Warn(const std::string& path, const capture::CaptureTail& tail, TailUse use) {
    std::vector<std::string> parts;
    if (summary_.truncated) parts.push_back(HowItEnds(path, tail, use));
    if (use == TailUse::kUnusable) {
      parts.push_back(absl::StrCat(capture::TailPath(path), " was ignored: ", WhyNot(tail)));
    }
    if (use != TailUse::kNone && tail.cut && !tail.being_written) {
      parts.push_back("what was being written to the tail at that moment is not whole and left out");
    }
    if (refused_frames_ > 0) {
      parts.push_back(absl::StrCat(parts.empty() ? path + ": " : "", refused_frames_,
                                   " frames could not be read and were skipped"));
    }
    summary_.warning = absl::StrJoin(parts, "; ");
  }

  std::string HowItEnds(const std::string& path, const capture::CaptureTail& tail, TailUse use) const {
    const bool is_whole = use == TailUse::kTaken || use == TailUse::kOlder;
    if (is_whole && tail.being_written) {
      return absl::StrCat(path, " is still being written: all ", WithCommas(summary_.events),
                          " events until now are shown");
    }
    // What follows the last whole block of the file is the block that the tail holds.
    if (use == TailUse::kTaken) {
      return absl::StrCat(path, " was not closed (the collector was killed, or its disk was full): ",
                          WithCommas(summary_.tail_events), " events were recovered from ", capture::TailPath(path));
    }
    const uint64_t rest = summary_.file_bytes - summary_.readable_bytes;
    if (rest > 0) {
      return absl::StrFormat(
          "%s is cut or damaged behind byte %s of %s: the %d whole blocks up to there (%d frames) are shown", path,
          WithCommas(summary_.readable_bytes), WithCommas(summary_.file_bytes), summary_.blocks, summary_.frames);
    }
    const std::string why =
        use == TailUse::kOlder ? "its writer was killed" : "still being written, or its writer was killed";
    const std::string without = tail.state == capture::CaptureTail::State::kAbsent
                                    ? absl::StrCat(", no ", capture::TailPath(path), " is there")
                                    : "";
    return absl::StrFormat("%s was not closed (%s%s): all %d blocks (%d frames) are whole and shown", path, why,
                           without, summary_.blocks, summary_.frames);
  }

  std::string WhyNot(const capture::CaptureTail& tail) const {
    if (tail.state == capture::CaptureTail::State::kUnusable) return tail.problem;
    if (tail.capture_number != capture_number_) return "it belongs to another capture";
    return absl::StrCat("it continues block ", tail.block, " of the file, which cannot be read");
  }

  ProcessSink* const sink_;
  const ReadProgress& progress_;
  CaptureSummary summary_;
  uint32_t capture_number_ = 0;
  uint64_t refused_frames_ = 0;
  google::protobuf::Arena arena_;
  std::map<uint32_t, std::shared_ptr<ingest::ProcessStream>> processes_;
};

}  // namespace

absl::StatusOr<CaptureSummary> ReadCapture(const std::string& path, ProcessSink* sink, const ReadProgress& progress) {
  return CaptureReader(sink, progress).Read(path);
}

}  // namespace stallscope
