#include "agent/stream/control.h"

#include <string.h>

#include "agent/stream/hello.h"

namespace stallscope::agent {
namespace {

struct Reader {
  const uint8_t* at;
  const uint8_t* end;
  bool failed = false;

  bool More() const noexcept { return !failed && at < end; }

  uint64_t Varint() noexcept {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) break;
      const uint8_t byte = *at++;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed = true;
    return 0;
  }

  Reader Message() noexcept {
    const uint64_t length = Varint();
    if (failed || length > static_cast<uint64_t>(end - at)) {
      failed = true;
      return {at, at};
    }
    const Reader inner = {at, at + length};
    at += length;
    return inner;
  }

  void Skip(uint32_t wire_type) noexcept {
    if (wire_type == 0) {
      Varint();
    } else if (wire_type == 2) {
      Message();
    } else {
      const int64_t width = wire_type == 1 ? 8 : wire_type == 5 ? 4 : -1;
      if (width < 0 || end - at < width) {
        failed = true;
      } else {
        at += width;
      }
    }
  }
};

void ReadControl(Reader reader, ControlRequest* request, bool* failed) noexcept {
  while (reader.More()) {
    const uint64_t tag = reader.Varint();
    const auto field = static_cast<uint32_t>(tag >> 3);
    const auto wire_type = static_cast<uint32_t>(tag & 7);
    if (field == 8 && wire_type == 2) {
      const Reader text = reader.Message();
      const auto length = static_cast<uint64_t>(text.end - text.at);
      request->refused = length != 0;
      memcpy(request->refusal, text.at, length < sizeof(request->refusal) ? length : sizeof(request->refusal) - 1);
      continue;
    }
    if (wire_type != 0 || field == 0 || field > 7) {
      reader.Skip(wire_type);
      continue;
    }
    const uint64_t value = reader.Varint();
    switch (field) {
      case 1:
        if (value <= 3) request->has_level = true, request->level = static_cast<uint32_t>(value);
        break;
      case 2:
        request->has_threshold = true, request->wait_threshold_ns = static_cast<uint32_t>(value);
        break;
      case 3:
        request->has_stacks = true, request->stacks = value != 0;
        break;
      case 4:
        request->cost_limit_ppm = static_cast<uint32_t>(value);
        break;
      case 5:
        request->node_window_ms = static_cast<uint32_t>(value);
        break;
      case 6:
        request->flush = value != 0;
        break;
      case 7:
        request->detach = value != 0;
        break;
      default:
        break;
    }
  }
  *failed = reader.failed;
}

}  // namespace

bool ParseControlFrame(const uint8_t* bytes, uint64_t length, ControlRequest* request) noexcept {
  Reader reader = {bytes, bytes + length};
  bool found = false;
  while (reader.More()) {
    const uint64_t tag = reader.Varint();
    if (tag == (kFrameControl << 3 | 2)) {
      bool failed = false;
      ReadControl(reader.Message(), request, &failed);
      if (failed) return false;
      found = true;
    } else {
      reader.Skip(static_cast<uint32_t>(tag & 7));
    }
  }
  return found && !reader.failed;
}

}  // namespace stallscope::agent
