#include "collector/capture/block.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/capture/format.h"

namespace stallscope::capture {
namespace {

std::string_view StoredOf(const std::string& block) { return std::string_view(block).substr(kBlockHeaderBytes); }

// The header of a block with one of its numbers changed.
std::string WithNumber(std::string block, size_t at, uint32_t value) {
  std::string bytes;
  PutLittle32(value, &bytes);
  return block.replace(at, 4, bytes);
}

TEST(Block, WhatWasEncoded_IsDecoded) {
  const std::string raw(100'000, 'r');
  const std::string block = EncodeBlock(raw, 3);
  EXPECT_LT(block.size(), raw.size() / 10);
  const auto header = ParseBlockHeader(block);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->frames, 3u);
  EXPECT_EQ(header->raw_bytes, raw.size());
  EXPECT_EQ(header->stored_bytes, StoredOf(block).size());
  EXPECT_TRUE(CheckBlock(*header, block, StoredOf(block)));
  std::string again;
  EXPECT_TRUE(DecompressBlock(*header, StoredOf(block), &again));
  EXPECT_EQ(again, raw);
}

TEST(Block, AnEmptyOne_IsOneToo) {
  const std::string block = EncodeBlock("", 0);
  const auto header = ParseBlockHeader(block);
  ASSERT_TRUE(header.has_value());
  std::string again = "left over";
  EXPECT_TRUE(CheckBlock(*header, block, StoredOf(block)));
  EXPECT_TRUE(DecompressBlock(*header, StoredOf(block), &again));
  EXPECT_EQ(again, "");
}

TEST(Block, HeadersThatCannotBe_AreRefused) {
  const std::string block = EncodeBlock("frames", 1);
  EXPECT_FALSE(ParseBlockHeader(block.substr(0, kBlockHeaderBytes - 1)).has_value());
  EXPECT_FALSE(ParseBlockHeader(WithNumber(block, 0, 0x12345678)).has_value());
  EXPECT_FALSE(ParseBlockHeader(WithNumber(block, 4, kBlockMaxStoredBytes + 1)).has_value());
  EXPECT_FALSE(ParseBlockHeader(WithNumber(block, 8, kBlockMaxRawBytes + 1)).has_value());
  EXPECT_TRUE(ParseBlockHeader(WithNumber(block, 8, kBlockMaxRawBytes)).has_value());
}

TEST(Block, EachNumberOfTheHeader_IsUnderTheChecksum) {
  const std::string block = EncodeBlock("frames", 1);
  for (const size_t at : {size_t{8}, size_t{12}, size_t{16}}) {
    const std::string changed = WithNumber(block, at, 5);
    const auto header = ParseBlockHeader(changed);
    ASSERT_TRUE(header.has_value()) << at;
    EXPECT_FALSE(CheckBlock(*header, changed, StoredOf(changed))) << at;
  }
  const auto header = ParseBlockHeader(block);
  EXPECT_FALSE(CheckBlock(*header, block, StoredOf(block).substr(1)));
}

// A payload that grows to more, or to less, than its header says.
TEST(Block, APayloadOfAnotherLength_IsRefused) {
  const std::string block = EncodeBlock(std::string(5'000, 'r'), 1);
  BlockHeader header = *ParseBlockHeader(block);
  std::string raw;
  header.raw_bytes = 4'999;
  EXPECT_FALSE(DecompressBlock(header, StoredOf(block), &raw));
  EXPECT_EQ(raw.size(), 4'999u);  // never more
  header.raw_bytes = 5'001;
  EXPECT_FALSE(DecompressBlock(header, StoredOf(block), &raw));
}

TEST(IndexBlock, ACountThatDoesNotFitItsBytes_IsRefused) {
  const std::string block = EncodeIndexBlock(std::string(2 * kIndexEntryBytes, 'i'), 2);
  ASSERT_TRUE(ParseBlockHeader(block).has_value());
  EXPECT_FALSE(ParseBlockHeader(WithNumber(block, 12, 3)).has_value());
  // 2^27 + 2 entries have the same length in 32 bits.
  EXPECT_FALSE(ParseBlockHeader(WithNumber(block, 12, (1u << 27) + 2)).has_value());
}

TEST(Little, NumbersOfEachWidth_ComeBack) {
  std::string bytes;
  PutLittle16(0xfedc, &bytes);
  PutLittle32(0xfedcba98, &bytes);
  PutLittle64(0xfedcba9876543210, &bytes);
  EXPECT_EQ(bytes.substr(0, 2), "\xdc\xfe");
  EXPECT_EQ(GetLittle16(bytes.data()), 0xfedc);
  EXPECT_EQ(GetLittle32(bytes.data() + 2), 0xfedcba98u);
  EXPECT_EQ(GetLittle64(bytes.data() + 6), 0xfedcba9876543210u);
}

}  // namespace
}  // namespace stallscope::capture
