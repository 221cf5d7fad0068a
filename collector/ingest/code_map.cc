#include "collector/ingest/code_map.h"

#include <algorithm>

#include "collector/ingest/limits.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

constexpr size_t kMaxBuildIdBytes = 64;
constexpr int kMostSteps = 4096;   // past so many modules that might hold an address none is looked for
constexpr size_t kNodeBytes = 96;  // of a container's node with what it points to

bool HeldIn(const ModuleInfo& module, uint32_t generation) {
  return module.first_generation <= generation && (module.last_generation == 0 || generation <= module.last_generation);
}

}  // namespace

bool CodeMap::Afford(size_t bytes) {
  if (bytes_ + stacks_.bytes() + modules_by_id_.bytes() + bytes > kMaxBytes) {
    ++refused_;
    return false;
  }
  bytes_ += bytes;
  return true;
}

void CodeMap::Add(const v1::Intern& intern) {
  for (const v1::Intern::Module& module : intern.modules()) {
    if (module.id() == 0 || module.id() >= kIdLimit || module.path().size() > kMaxStringBytes ||
        module.build_id().size() > kMaxBuildIdBytes || module.bytes() == 0 ||
        module.begin() > ~uint64_t{0} - module.bytes()) {
      ++refused_;
      continue;
    }
    if (ModuleInfo* known = modules_by_id_.Get(module.id()); known != nullptr) {
      known->last_generation = module.last_generation();  // the rest cannot change
      continue;
    }
    if (modules_.size() >= kMaxModules ||
        !Afford(sizeof(ModuleInfo) + 2 * kNodeBytes + module.path().size() + decltype(modules_by_id_)::PageBytes())) {
      ++refused_;
      continue;
    }
    ModuleInfo& info = modules_.emplace_back();
    info.begin = module.begin();
    info.bytes = module.bytes();
    info.bias = module.bias();
    info.build_id = module.build_id();
    info.path = module.path();
    info.first_generation = module.first_generation();
    info.last_generation = module.last_generation();
    modules_by_id_.At(module.id()) = &info;
    modules_by_begin_.emplace(info.begin, &info);
    largest_module_ = std::max(largest_module_, info.bytes);
  }
  for (const v1::Intern::Stack& stack : intern.stacks()) {
    if (stack.id() == 0 || stack.id() >= kIdLimit || stack.frames_size() == 0 || stack.frames_size() > kMaxFrames) {
      ++refused_;
      continue;
    }
    if (stacks_.Get(stack.id()) != nullptr) continue;  // sent again after a reconnect
    if (!Afford(sizeof(StackInfo) + kNodeBytes + static_cast<size_t>(stack.frames_size()) * sizeof(uint64_t) +
                (stacks_.HasPage(stack.id()) ? 0 : decltype(stacks_)::PageBytes()))) {
      continue;
    }
    StackInfo& info = kept_.emplace_back();
    info.frames.assign(stack.frames().begin(), stack.frames().end());
    info.generation = stack.generation();
    info.cut = stack.cut();
    stacks_.At(stack.id()) = &info;
  }
  for (const v1::Intern::Code& code : intern.codes()) {
    if (code.bytes() == 0 || code.begin() > ~uint64_t{0} - code.bytes() || code.name().size() > kMaxStringBytes ||
        codes_.size() >= kMaxCodes || !Afford(kNodeBytes + code.name().size())) {
      ++refused_;
      continue;
    }
    const uint64_t end = code.begin() + code.bytes();
    auto at = codes_.lower_bound(code.begin());
    if (at != codes_.begin() && std::prev(at)->second.end > code.begin()) --at;
    while (at != codes_.end() && at->first < end) at = codes_.erase(at);
    codes_[code.begin()] = {end, code.name()};
  }
}

const StackInfo* CodeMap::Stack(StackId id) const { return stacks_.Get(id); }

const ModuleInfo* CodeMap::Module(uint64_t address, uint32_t generation) const {
  // Modules of different generations overlap: backwards from the last that begins before the address, as far as the largest
  // one reaches.
  int steps = 0;
  for (auto at = modules_by_begin_.upper_bound(address); at != modules_by_begin_.begin() && steps < kMostSteps;
       ++steps) {
    --at;
    if (address - at->first >= largest_module_) break;
    if (address - at->first < at->second->bytes && HeldIn(*at->second, generation)) return at->second;
  }
  return nullptr;
}

std::string_view CodeMap::CodeName(uint64_t address) const {
  auto at = codes_.upper_bound(address);
  if (at == codes_.begin()) return {};
  --at;
  return address < at->second.end ? std::string_view(at->second.name) : std::string_view();
}

}  // namespace stallscope::ingest
