// One block of a capture file: its header, its checksum, its compression. The bytes are drawn in format.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallscope::capture {

struct BlockHeader {
  uint32_t magic = 0, stored_bytes = 0, raw_bytes = 0, frames = 0, crc32c = 0;
};

// CRC32C (Castagnoli) of both pieces, one after the other.
uint32_t Crc32c(std::string_view first, std::string_view second = {});

void PutLittle16(uint16_t value, std::string* out);
void PutLittle32(uint32_t value, std::string* out);
void PutLittle64(uint64_t value, std::string* out);
uint16_t GetLittle16(const char* from);
uint32_t GetLittle32(const char* from);
uint64_t GetLittle64(const char* from);

// Header and payload, ready to write. `raw` at most kBlockMaxRawBytes.
std::string EncodeBlock(std::string_view raw, uint32_t frames);
// Header and payload of the index block; the payload is stored as it is.
std::string EncodeIndexBlock(std::string_view entries, uint32_t count);

// nullopt: these 20 bytes cannot head a block or an index (magic or sizes).
std::optional<BlockHeader> ParseBlockHeader(std::string_view bytes);
// True when the checksum fits.
bool CheckBlock(const BlockHeader& header, std::string_view header_bytes, std::string_view stored);
// False when the payload does not decompress to exactly header.raw_bytes.
bool DecompressBlock(const BlockHeader& header, std::string_view stored, std::string* raw);

}  // namespace stallscope::capture
