// The bytes of a capture file (.stallcap) and of its tail. All integers little-endian.
//
//   offset  bytes
//   0       8      kFileMagic "STALLCAP"
//   8       2      version major       another major is refused
//   10      2      version minor       a higher minor is read; what it adds is skipped
//   12      4      number of this capture: random, the same in its tail; 0 in captures without one
//   16             block, block, ... , index, trailer
//
//   block:  4      kBlockMagic "BLK1"
//           4      stored bytes        of the zstd frame that follows
//           4      raw bytes           of what it holds
//           4      frames              how many it holds
//           4      CRC32C              of the 12 bytes before (from stored bytes on) and of the zstd frame
//           n      one zstd frame; inside: for each frame 4 bytes length, then one stallscope.v1.Frame (Frame.process
//           set)
//
//   index:  the same five words with magic "IDX1"; stored = raw = bytes of the entries (not compressed); frames = their
//   number
//           entry: 8 offset of the block, 4 raw bytes, 4 frames, 8 first ns, 8 last ns (0: no time in the block)
//   trailer (at the very end):
//           8      offset of the index
//           8      kTrailerMagic "STALLEND"
//
// The tail (FILE.tail) exists while FILE is written, and after its writer was killed. It holds the frames of the block
// that FILE does not have yet, and is written over from offset 16 on for each block. A reader takes the raw blocks of
// the first one's block, as far as they are whole, and only when FILE has exactly that many blocks and no index: with
// more blocks FILE has these frames itself.
//
//   0       8      kTailMagic "STALTAIL"
//   8       2, 2   version major, minor
//   12      4      number of the capture
//   16             raw block, raw block, ... , 4 bytes 0
//
//   raw block: 4   kRawBlockMagic "RAW1"
//           4      bytes of the frames that follow
//           4      which block of FILE they belong to, counted from 0: how many FILE has without them
//           4      frames              how many
//           4      CRC32C              of the 12 bytes before and of the frames
//           n      as inside a block: for each frame 4 bytes length, then one stallscope.v1.Frame
//
// Index and trailer are written by Close, which then removes the tail. A file without them (the writer was killed, the disk was full, the file was
// cut) is read block by block; the index is then rebuilt from the block headers (capture_index.h). Written by:
// CaptureWriter. Read by: ReadCapture, LoadCaptureIndex. A reader trusts nothing in either.
#pragma once

#include <cstdint>
#include <string_view>

namespace stallscope::capture {

inline constexpr std::string_view kFileMagic = "STALLCAP";
inline constexpr std::string_view kTailMagic = "STALTAIL";
inline constexpr std::string_view kTrailerMagic = "STALLEND";
inline constexpr uint16_t kVersionMajor = 1;
inline constexpr uint16_t kVersionMinor = 0;

inline constexpr uint32_t kBlockMagic = 0x314b4c42;     // "BLK1"
inline constexpr uint32_t kIndexMagic = 0x31584449;     // "IDX1"
inline constexpr uint32_t kRawBlockMagic = 0x31574152;  // "RAW1"

inline constexpr size_t kFileHeaderBytes = 16;
inline constexpr size_t kBlockHeaderBytes = 20;
inline constexpr size_t kIndexEntryBytes = 32;
inline constexpr size_t kTrailerBytes = 16;

// The writer closes a block at kBlockTargetBytes; one frame (at most 4 MiB) may pass it. A reader refuses more than the
// maximum.
inline constexpr uint32_t kBlockTargetBytes = 256 * 1024;
inline constexpr uint32_t kBlockMaxRawBytes = 8 * 1024 * 1024;
inline constexpr uint32_t kBlockMaxStoredBytes = kBlockMaxRawBytes + kBlockMaxRawBytes / 128;
// One block's frames and their raw block headers; a reader takes no more from a tail.
inline constexpr uint32_t kTailMaxBytes = kBlockMaxRawBytes;

}  // namespace stallscope::capture
