// Interposed entry points of libllama: marks, then a jump to the real function.
//
// The jump leaves every argument where the caller put it, so a change of struct llama_batch (passed by value on the
// stack) cannot break a program. Of the batch only its first member is read, int32_t n_tokens, which has never moved.
//
// A symbol binds to us only where something imports it, and something that exports it is then loaded; it is looked for
// in every module after the agent, whatever its name (libllama.so, libllama.cuda.v0.5.0.so). When there is none (a
// program that asks dlsym's default scope whether llama exists), the call answers with llama.cpp's own failure value:
// -1 or nullptr.
#include <link.h>
#include <string.h>

#include <atomic>

#include "agent/engine/engine_marks.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/loader_use.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::RangeKind;

constinit TokenRules g_rules;

struct EntryPoint {
  const char* name;
  std::atomic<void*> real{nullptr};
  std::atomic<uint32_t> text_id{0};
};
constinit EntryPoint g_decode{"llama_decode"};
constinit EntryPoint g_logits_ith{"llama_get_logits_ith"};
constinit EntryPoint g_logits{"llama_get_logits"};
constinit EntryPoint g_sample{"llama_sampler_sample"};

// Where libllama lies, to tell its own calls from the program's.
constinit std::atomic<uintptr_t> g_library_begin{0}, g_library_end{0};

struct ModuleOf {
  uintptr_t address;
  uintptr_t begin, end;
};

int VisitForRange(dl_phdr_info* info, size_t, void* argument) {
  auto* wanted = static_cast<ModuleOf*>(argument);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t segment = info->dlpi_addr + header.p_vaddr;
    if (segment < begin) begin = segment;
    if (segment + header.p_memsz > end) end = segment + header.p_memsz;
  }
  if (wanted->address < begin || wanted->address >= end) return 0;
  wanted->begin = begin;
  wanted->end = end;
  return 1;
}

void* RealOf(EntryPoint* entry) noexcept {
  void* real = entry->real.load(std::memory_order_relaxed);
  if (__builtin_expect(real != nullptr, 1)) return real;
  real = ResolveNext(entry->name, nullptr, nullptr);
  if (real == nullptr) return nullptr;
  const LoaderUse in_loader;
  ModuleOf module = {reinterpret_cast<uintptr_t>(real), 0, 0};
  if (dl_iterate_phdr(VisitForRange, &module) != 0) {
    g_library_begin.store(module.begin, std::memory_order_relaxed);
    g_library_end.store(module.end, std::memory_order_relaxed);
  }
  entry->text_id.store(InternString(entry->name, static_cast<uint32_t>(strlen(entry->name))),
                       std::memory_order_relaxed);
  entry->real.store(real, std::memory_order_relaxed);
  return real;
}

bool FromOutside(const void* caller) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return address < g_library_begin.load(std::memory_order_relaxed) ||
         address >= g_library_end.load(std::memory_order_relaxed);
}

bool MayMark() noexcept {
  if (Recording()) return true;
  if (SharedHeader() == nullptr) EnsureSetUp();  // the first hook of a forked child
  return Recording();
}

void Mark(RangeKind kind, const EntryPoint& entry, uint64_t number) noexcept {
  RecordFields fields;
  fields.begin = Ticks();
  fields.object = entry.text_id.load(std::memory_order_relaxed);
  fields.argument = number;
  fields.kind = wire::RecordKind::kRange;
  fields.call = static_cast<uint16_t>(kind);
  Commit(fields);
}

}  // namespace

// Called from the assembly below; each returns where to jump, never nullptr. Not `static`: the assembly names them.
extern "C" {
__attribute__((visibility("hidden"), used)) int stallscope_no_llama_int() { return -1; }
__attribute__((visibility("hidden"), used)) void* stallscope_no_llama_pointer() { return nullptr; }

__attribute__((visibility("hidden"), used)) void* stallscope_on_llama_decode(void*, int32_t batch_tokens,
                                                                             const void* caller) {
  void* real = RealOf(&g_decode);
  if (real == nullptr) return reinterpret_cast<void*>(&stallscope_no_llama_int);
  if (FromOutside(caller) && MayMark()) {
    g_rules.OnDecode();
    Mark(RangeKind::kEngineDecode, g_decode, batch_tokens < 0 ? 0 : static_cast<uint64_t>(batch_tokens));
  }
  return real;
}

__attribute__((visibility("hidden"), used)) void* stallscope_on_llama_logits_ith(void* context, int32_t index,
                                                                                 const void* caller) {
  void* real = RealOf(&g_logits_ith);
  if (real == nullptr) return reinterpret_cast<void*>(&stallscope_no_llama_pointer);
  if (FromOutside(caller) && MayMark() && g_rules.OnOutput(reinterpret_cast<uint64_t>(context), index)) {
    Mark(RangeKind::kEngineToken, g_logits_ith, 1);
  }
  return real;
}

__attribute__((visibility("hidden"), used)) void* stallscope_on_llama_logits(void* context, int32_t,
                                                                             const void* caller) {
  void* real = RealOf(&g_logits);
  if (real == nullptr) return reinterpret_cast<void*>(&stallscope_no_llama_pointer);
  if (FromOutside(caller) && MayMark() && g_rules.OnAllLogits(reinterpret_cast<uint64_t>(context))) {
    Mark(RangeKind::kEngineToken, g_logits, 1);
  }
  return real;
}

__attribute__((visibility("hidden"), used)) void* stallscope_on_llama_sample(void* context, int32_t index,
                                                                             const void* caller) {
  void* real = RealOf(&g_sample);
  if (real == nullptr) return reinterpret_cast<void*>(&stallscope_no_llama_int);
  if (FromOutside(caller) && MayMark() && g_rules.OnOutput(reinterpret_cast<uint64_t>(context), index)) {
    Mark(RangeKind::kEngineToken, g_sample, 1);
  }
  return real;
}
}

// Saves the argument registers, calls `report` with the arguments that `arguments` sets up, restores, jumps. Seven
// words are pushed (the last keeps the stack aligned), so the return address is at 56(%rsp) and the first stack
// argument at 64(%rsp). None of these functions has floating-point arguments.
#define STALLSCOPE_ENTRY(name, report, arguments)                                        \
  __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name      \
          ":\n"                                                                          \
          ".cfi_startproc\n"                                                             \
          "pushq %rdi\n.cfi_adjust_cfa_offset 8\npushq %rsi\n.cfi_adjust_cfa_offset 8\n" \
          "pushq %rdx\n.cfi_adjust_cfa_offset 8\npushq %rcx\n.cfi_adjust_cfa_offset 8\n" \
          "pushq %r8\n.cfi_adjust_cfa_offset 8\npushq %r9\n.cfi_adjust_cfa_offset 8\n"   \
          "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n" arguments                          \
          "movq 56(%rsp), %rdx\n"                                                        \
          "call " #report                                                                \
          "\n"                                                                           \
          "movq %rax, %r11\n"                                                            \
          "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"                                   \
          "popq %r9\n.cfi_adjust_cfa_offset -8\npopq %r8\n.cfi_adjust_cfa_offset -8\n"   \
          "popq %rcx\n.cfi_adjust_cfa_offset -8\npopq %rdx\n.cfi_adjust_cfa_offset -8\n" \
          "popq %rsi\n.cfi_adjust_cfa_offset -8\npopq %rdi\n.cfi_adjust_cfa_offset -8\n" \
          "jmp *%r11\n"                                                                  \
          ".cfi_endproc\n.size " #name ", .-" #name "\n")

// int32_t llama_decode(llama_context* ctx [rdi], llama_batch batch [stack])
STALLSCOPE_ENTRY(llama_decode, stallscope_on_llama_decode, "movl 64(%rsp), %esi\n");
// float* llama_get_logits_ith(llama_context* ctx [rdi], int32_t i [esi])
STALLSCOPE_ENTRY(llama_get_logits_ith, stallscope_on_llama_logits_ith, "");
// float* llama_get_logits(llama_context* ctx [rdi])
STALLSCOPE_ENTRY(llama_get_logits, stallscope_on_llama_logits, "");
// llama_token llama_sampler_sample(llama_sampler* smpl [rdi], llama_context* ctx [rsi], int32_t idx [edx])
STALLSCOPE_ENTRY(llama_sampler_sample, stallscope_on_llama_sample, "movq %rsi, %rdi\nmovl %edx, %esi\n");

}  // namespace stallscope::agent
