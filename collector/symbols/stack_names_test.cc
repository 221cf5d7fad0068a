#include "collector/symbols/stack_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace stallscope {
namespace known {

// Named in the tests.
struct Worker {
  __attribute__((noinline)) static uint64_t Drain(int) {
    return reinterpret_cast<uint64_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
  }
  __attribute__((noinline)) uint64_t Run() {
    const uint64_t here = Drain(1);
    __asm__ volatile("" ::: "memory");
    return here;
  }
};

}  // namespace known

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// This program, as the agent would describe it.
ModuleInfo ThisProgram() {
  ModuleInfo module;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto* found = static_cast<ModuleInfo*>(argument);
        found->bias = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          const char* end = at + header.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* content = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID) found->build_id.assign(content, note->n_descsz);
            at = content + ((note->n_descsz + 3) & ~3u);
          }
        }
        return 1;
      },
      &module);
  module.begin = module.bias;
  module.bytes = 1 << 30;
  module.path = std::filesystem::read_symlink("/proc/self/exe");
  return module;
}

class OneModule : public ProcessNames {
 public:
  explicit OneModule(ModuleInfo module) : module_(std::move(module)) {}
  std::string_view String(StringId) const override { return {}; }
  std::string_view CallName(wire::CudaDomain, uint16_t) const override { return {}; }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }
  const ModuleInfo* Module(uint64_t address, uint32_t generation) const override {
    return generation == 1 && address - module_.begin < module_.bytes ? &module_ : nullptr;
  }
  std::string_view CodeName(uint64_t address) const override {
    return address == 0x4f ? "py::Engine.step:/srv/vllm/engine.py" : address == 0x5f ? "LazyCompile:~main" : "";
  }

 private:
  ModuleInfo module_;
};

TEST(StackNames, FunctionOfThisProgram_IsFoundAndDemangled) {
  const OneModule names(ThisProgram());
  StackNames stack_names;
  const auto frames = stack_names.Of(names, {{known::Worker().Run()}, 1, false});
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "stallscope::known::Worker::Run()");
  EXPECT_THAT(frames[0].file, HasSubstr("stack_names_test.cc"));
  EXPECT_GT(frames[0].line, 0);
}

TEST(StackNames, AnotherGeneration_HasNoModuleThere) {
  const OneModule names(ThisProgram());
  StackNames stack_names;
  const auto frames = stack_names.Of(names, {{known::Worker().Run()}, 2, false});
  EXPECT_EQ(frames[0].function, "");
  EXPECT_THAT(frames[0].Text(), StartsWith("0x"));
}

TEST(StackNames, FileWithAnotherBuildId_NamesNothing) {
  ModuleInfo changed = ThisProgram();
  ASSERT_FALSE(changed.build_id.empty());
  changed.build_id[0] = static_cast<char>(changed.build_id[0] ^ 1);
  const OneModule names(changed);
  StackNames stack_names;
  const auto frames = stack_names.Of(names, {{known::Worker().Run()}, 1, false});
  EXPECT_EQ(frames[0].function, "");
  EXPECT_THAT(frames[0].Text(), HasSubstr("+0x"));
  EXPECT_THAT(ModuleSymbols::Open(changed, "")->why(), HasSubstr("has changed"));
}

TEST(StackNames, PathsThatAreNoFile_AreNotWaitedFor) {
  char folder[] = "/tmp/stallscope-symbols-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ModuleInfo module = ThisProgram();
  for (const char* path : {"", "linux-vdso.so.1", "/dev/zero", "/nosuch", "/", "/pipe"}) {
    module.path = strcmp(path, "/pipe") == 0 ? std::string(folder) + path : path;
    if (strcmp(path, "/pipe") == 0) {
      ASSERT_EQ(mkfifo(module.path.c_str(), 0600), 0);
    }
    const auto symbols = ModuleSymbols::Open(module, "");
    EXPECT_EQ(symbols->At(0x1000).function, "") << path;
    EXPECT_NE(symbols->why(), "") << path;
  }
  std::filesystem::remove_all(folder);
}

TEST(StackNames, CodeOfNoFile_HasTheNameItsMakerGave) {
  const OneModule names(ThisProgram());
  StackNames stack_names;
  const auto frames = stack_names.Of(names, {{0x50, 0x60, 0x70}, 2, false});
  EXPECT_EQ(frames[0].Text(), "Engine.step [engine.py]");
  EXPECT_EQ(frames[0].file, "/srv/vllm/engine.py");
  EXPECT_EQ(frames[1].Text(), "LazyCompile:~main");
  EXPECT_EQ(frames[2].Text(), "0x70");
}

FrameName Named(const char* function) {
  FrameName frame;
  frame.function = function;
  return frame;
}

TEST(StackText, Plumbing_IsLeftOutAtBothEnds) {
  const std::vector<FrameName> frames = {Named("__gthread_mutex_lock(pthread_mutex_t*)"),
                                         Named("std::mutex::lock()"),
                                         Named("Queue::Pop()"),
                                         Named("Worker::Run()"),
                                         Named("start_thread"),
                                         Named("clone3")};
  EXPECT_EQ(StackText(frames, false, 8), "Queue::Pop() <- Worker::Run()");
  EXPECT_EQ(StackText(frames, false, 1), "Queue::Pop() <- ...");
  EXPECT_EQ(StackText(frames, true, 8), "Queue::Pop() <- Worker::Run() <- ...");
  EXPECT_EQ(StackText({Named("start_thread")}, false, 8), "start_thread") << "never nothing at all";
  EXPECT_EQ(StackText({}, false, 8), "");
}

TEST(Demangled, WhatIsNoCxxName_StaysAsItIs) {
  EXPECT_EQ(Demangled("_ZN6Worker5DrainEv"), "Worker::Drain()");
  EXPECT_EQ(Demangled("main"), "main");
  EXPECT_EQ(Demangled("_Zgarbage"), "_Zgarbage");
  const std::string deep = "_Z" + std::string(1 << 17, 'N');
  EXPECT_EQ(Demangled(deep), deep);
}

}  // namespace
}  // namespace stallscope
