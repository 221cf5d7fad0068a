// Streamer's work on stacks: each one, and each module that its addresses lie in, crosses the border once a connection,
// before the records that name it.
#include <string.h>

#include "agent/hot/process_state.h"
#include "agent/stacks/stack_rounds.h"
#include "agent/stacks/stacks.h"
#include "agent/stream/hello.h"
#include "agent/stream/streamer.h"

namespace stallscope::agent {
namespace {

// Field numbers of stallscope.v1.Intern.
enum InternField : uint32_t { kInternStacks = 6, kInternModules = 11 };

constexpr uint64_t kLargestModule = 4096 + 128;

bool HasStack(const PlainRecord& record) noexcept {
  if (record.stack == 0) return false;
  switch (static_cast<wire::RecordKind>(record.kind)) {
    case wire::RecordKind::kWait:
    case wire::RecordKind::kWake:
    case wire::RecordKind::kCudaCall:
      return true;
    default:
      return false;  // the field holds something else
  }
}

void WriteModule(ProtoWriter* out, uint32_t id, const Module& module) noexcept {
  const uint64_t message = out->BeginMessage(kInternModules);
  out->Uint(1, id);
  out->Fixed64(2, module.begin);
  out->Uint(3, module.end - module.begin);
  out->Fixed64(4, module.bias);
  out->Bytes(5, module.build_id, module.build_id_bytes);
  out->Text(6, module.path);
  out->Uint(7, module.first_generation);
  out->Uint(8, module.last_generation);
  out->EndMessage(message);
}

void WriteStack(ProtoWriter* out, uint32_t id, const KnownStack& stack) noexcept {
  const uint64_t message = out->BeginMessage(kInternStacks);
  out->Uint(1, id);
  out->Bytes(2, stack.frames, stack.count * sizeof(uint64_t));  // packed fixed64, little-endian as memory is
  out->Uint(3, stack.generation);
  out->Uint(4, stack.cut ? 1 : 0);
  out->EndMessage(message);
}

}  // namespace

void Streamer::IntroduceModules() noexcept {
  if (g_stack_rounds.stacks() == nullptr) return;
  ModuleMap* modules = g_stack_rounds.modules();
  uint64_t frame = 0, intern = 0;
  bool begun = false;
  for (uint32_t i = 0; i < modules->count(); ++i) {
    Module* module = modules->at(i);
    if (module->said == connection_number_ && module->said_last_generation == module->last_generation) continue;
    // A process without stacks to say has nothing to say of modules that are gone.
    if (output_.room() < kLargestModule + BatchEncoder::kMaxOutputBytes + kMaxStackBytes) break;
    if (!begun) {
      frame = output_.BeginFrame();
      intern = output_.BeginMessage(kFrameIntern);
      begun = true;
    }
    WriteModule(&output_, i + 1, *module);
    module->said = connection_number_;
    module->said_last_generation = module->last_generation;
  }
  if (!begun) return;
  output_.EndMessage(intern);
  output_.EndFrame(frame);
}

void Streamer::IntroduceStacks(PlainRecord* records, uint32_t count) noexcept {
  uint64_t frame = 0, intern = 0;
  bool begun = false;
  const uint32_t modules_before = g_stack_rounds.modules()->count();
  for (uint32_t i = 0; i < count; ++i) {
    if (!HasStack(records[i])) continue;
    const uint32_t id = FinalStack(records[i].stack);
    records[i].stack = id;
    if (id == 0 || id > g_header->stack_capacity || said_stacks_[id] == connection_number_) continue;
    const KnownStack stack = StackById(id);
    if (stack.count == 0) {
      records[i].stack = 0;
      continue;
    }
    if (!begun) {
      frame = output_.BeginFrame();
      intern = output_.BeginMessage(kFrameIntern);
      begun = true;
    }
    WriteStack(&output_, id, stack);
    said_stacks_[id] = connection_number_;
  }
  if (begun) {
    output_.EndMessage(intern);
    output_.EndFrame(frame);
  }
  if (g_stack_rounds.modules()->count() != modules_before) IntroduceModules();
}

}  // namespace stallscope::agent
