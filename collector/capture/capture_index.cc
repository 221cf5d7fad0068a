#include "collector/capture/capture_index.h"

#include "collector/capture/block.h"
#include "collector/capture/format.h"

namespace stallscope::capture {
namespace {

// The stored index, or false when there is none or it does not fit the file.
bool ReadStored(const CaptureFile& file, std::vector<CaptureIndexEntry>* blocks) {
  std::string trailer, header_bytes, entries;
  if (file.bytes() < kFileHeaderBytes + kBlockHeaderBytes + kTrailerBytes) return false;
  const uint64_t trailer_offset = file.bytes() - kTrailerBytes;
  if (!file.ReadAt(trailer_offset, kTrailerBytes, &trailer) || trailer.substr(8) != kTrailerMagic) return false;
  const uint64_t offset = GetLittle64(trailer.data());
  if (offset < kFileHeaderBytes || offset > trailer_offset - kBlockHeaderBytes) return false;
  if (!file.ReadAt(offset, kBlockHeaderBytes, &header_bytes)) return false;
  const auto header = ParseBlockHeader(header_bytes);
  if (!header || header->magic != kIndexMagic) return false;
  if (offset + kBlockHeaderBytes + header->stored_bytes != trailer_offset) return false;
  if (!file.ReadAt(offset + kBlockHeaderBytes, header->stored_bytes, &entries)) return false;
  if (!CheckBlock(*header, header_bytes, entries)) return false;
  for (size_t at = 0; at < entries.size(); at += kIndexEntryBytes) {
    const char* from = entries.data() + at;
    const CaptureIndexEntry entry{GetLittle64(from), GetLittle32(from + 8), GetLittle32(from + 12),
                                  GetLittle64(from + 16), GetLittle64(from + 24)};
    if (entry.offset < kFileHeaderBytes || entry.offset >= offset) return false;
    blocks->push_back(entry);
  }
  return true;
}

}  // namespace

std::string EncodeCaptureIndex(const std::vector<CaptureIndexEntry>& blocks, uint64_t offset) {
  std::string entries;
  entries.reserve(blocks.size() * kIndexEntryBytes);
  for (const CaptureIndexEntry& block : blocks) {
    PutLittle64(block.offset, &entries);
    PutLittle32(block.raw_bytes, &entries);
    PutLittle32(block.frames, &entries);
    PutLittle64(block.first_ns, &entries);
    PutLittle64(block.last_ns, &entries);
  }
  std::string out = EncodeIndexBlock(entries, static_cast<uint32_t>(blocks.size()));
  PutLittle64(offset, &out);
  out += kTrailerMagic;
  return out;
}

CaptureIndex ReadCaptureIndex(const CaptureFile& file) {
  CaptureIndex index;
  if (ReadStored(file, &index.blocks)) return index;
  index.blocks.clear();
  index.rebuilt = true;
  uint64_t offset = kFileHeaderBytes;
  std::string header_bytes;
  while (file.ReadAt(offset, kBlockHeaderBytes, &header_bytes)) {
    const auto header = ParseBlockHeader(header_bytes);
    if (!header || header->magic != kBlockMagic) break;
    const uint64_t next = offset + kBlockHeaderBytes + header->stored_bytes;
    if (next > file.bytes()) break;
    index.blocks.push_back({offset, header->raw_bytes, header->frames, 0, 0});
    offset = next;
  }
  return index;
}

absl::StatusOr<CaptureIndex> LoadCaptureIndex(const std::string& path) {
  absl::StatusOr<CaptureFile> file = CaptureFile::Open(path);
  if (!file.ok()) return file.status();
  return ReadCaptureIndex(*file);
}

}  // namespace stallscope::capture
