// Writes protobuf by hand into memory of the caller. Valid protobuf, verified against libprotobuf in encoder_test.cc.
//
// Never writes past its end: what does not fit sets `overflow`, and the frame is given up by the caller.
#pragma once

#include <cstdint>
#include <cstring>

namespace stallscope::agent {

constexpr uint64_t ZigZag(int64_t value) noexcept {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

inline uint8_t* PutVarint(uint8_t* out, uint64_t value) noexcept {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

class ProtoWriter {
 public:
  constexpr ProtoWriter(uint8_t* begin, uint64_t capacity) noexcept
      : begin_(begin), at_(begin), end_(begin + capacity) {}

  const uint8_t* data() const noexcept { return begin_; }
  uint64_t bytes() const noexcept { return static_cast<uint64_t>(at_ - begin_); }
  uint64_t room() const noexcept { return static_cast<uint64_t>(end_ - at_); }
  bool overflow() const noexcept { return overflow_; }
  void Clear() noexcept { at_ = begin_, overflow_ = false; }
  void CutTo(uint64_t length) noexcept { at_ = begin_ + length, overflow_ = false; }

  // Fields with the value 0 or "" are left out, as proto3 does.
  void Uint(uint32_t field, uint64_t value) noexcept {
    if (value != 0) UintAlways(field, value);
  }
  void UintAlways(uint32_t field, uint64_t value) noexcept {
    if (!Reserve(20)) return;
    at_ = PutVarint(at_, field << 3);
    at_ = PutVarint(at_, value);
  }
  void Fixed64(uint32_t field, uint64_t value) noexcept {
    if (!Reserve(18)) return;
    at_ = PutVarint(at_, field << 3 | 1);
    memcpy(at_, &value, 8);
    at_ += 8;
  }
  void Bytes(uint32_t field, const void* bytes, uint64_t length) noexcept {
    if (length != 0) BytesAlways(field, bytes, length);
  }
  void BytesAlways(uint32_t field, const void* bytes, uint64_t length) noexcept {
    if (!Reserve(20 + length)) return;
    at_ = PutVarint(at_, field << 3 | 2);
    at_ = PutVarint(at_, length);
    memcpy(at_, bytes, length);
    at_ += length;
  }
  void Text(uint32_t field, const char* text) noexcept { Bytes(field, text, strlen(text)); }

  // Raw bytes without a tag, for packed columns.
  void Append(const void* bytes, uint64_t length) noexcept {
    if (!Reserve(length)) return;
    memcpy(at_, bytes, length);
    at_ += length;
  }

  // A submessage whose length is known only at its end: five bytes are kept for it and filled by EndMessage, which
  // moves the content down to the shortest length encoding.
  uint64_t BeginMessage(uint32_t field) noexcept {
    if (!Reserve(15)) return bytes();
    at_ = PutVarint(at_, field << 3 | 2);
    const uint64_t mark = bytes();
    at_ += kLengthRoom;
    return mark;
  }
  void EndMessage(uint64_t mark) noexcept {
    if (overflow_) return;
    uint8_t* content = begin_ + mark + kLengthRoom;
    const auto length = static_cast<uint64_t>(at_ - content);
    uint8_t* moved = PutVarint(begin_ + mark, length);
    memmove(moved, content, length);
    at_ = moved + length;
  }

  // The 4-byte little-endian length in front of a frame.
  uint64_t BeginFrame() noexcept {
    const uint64_t mark = bytes();
    if (Reserve(4)) at_ += 4;
    return mark;
  }
  // False: it did not fit, and nothing of it is left.
  bool EndFrame(uint64_t mark) noexcept {
    if (overflow_) {
      CutTo(mark);
      return false;
    }
    const auto length = static_cast<uint32_t>(bytes() - mark - 4);
    memcpy(begin_ + mark, &length, 4);
    return true;
  }

 private:
  static constexpr uint64_t kLengthRoom = 5;

  bool Reserve(uint64_t length) noexcept {
    if (overflow_ || room() < length) overflow_ = true;
    return !overflow_;
  }

  uint8_t* begin_;
  uint8_t* at_;
  uint8_t* end_;
  bool overflow_ = false;
};

}  // namespace stallscope::agent
