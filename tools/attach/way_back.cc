#include "tools/attach/way_back.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tools/attach/injected_code.h"

namespace stallscope::attach {

WayBackPlace FindWayBackPlace(int pid, const std::vector<const MappedModule*>& modules) {
  const std::string code = GetWayBack({});
  const size_t code_bytes = code.size() - sizeof(SavedContext);
  WayBackPlace found;
  for (const MappedModule* module : modules) {
    for (const Padding& padding : ReadCodePadding(pid, *module)) {
      for (uint64_t at = padding.begin; at + kWayBackBytes <= padding.end; at += kWayBackBytes) {
        uint8_t bytes[kWayBackBytes];
        if (ReadMemory(pid, at, bytes, sizeof(bytes)) != sizeof(bytes)) break;
        if (std::all_of(bytes, bytes + sizeof(bytes), [](uint8_t byte) { return byte == 0; })) return {at, false};
        const bool is_ours = std::memcmp(bytes, code.data(), code_bytes) == 0;
        if (is_ours && found.address == 0) found = {at, true};
      }
    }
  }
  return found;
}

}  // namespace stallscope::attach
