#include "tools/attach/injected_code.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tools/attach/target_memory.h"

namespace stallscope::attach {
namespace {

TEST(InjectedCode, FitsItsPageAndHasItsEntriesInIt) {
  const InjectedCode code = GetInjectedCode({});
  EXPECT_GT(code.bytes.size(), 100u);
  EXPECT_LT(code.bytes.size(), kPageBytes);
  EXPECT_LT(code.call, code.create);
  EXPECT_LT(code.create, code.helper);
  EXPECT_LT(code.helper, code.way_back);
  EXPECT_LT(code.way_back, code.bytes.size());
}

// The thread of the work, run in this process: the way a process of several threads does it.
class WorkThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    void* region = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(region, MAP_FAILED);
    region_ = reinterpret_cast<uint64_t>(region);
    const InjectedCode code = GetInjectedCode({});
    std::memcpy(region, code.bytes.data(), code.bytes.size());
    ASSERT_EQ(mprotect(region, kPageBytes, PROT_READ | PROT_EXEC), 0);
    helper_ = region_ + code.helper;
    data_ = reinterpret_cast<InjectedData*>(region_ + kPageBytes);
    data_->dlopen = Address(dlopen), data_->dlsym = Address(dlsym), data_->dlerror = Address(dlerror);
    data_->pthread_self = Address(pthread_self), data_->pthread_detach = Address(pthread_detach);
    data_->munmap = Address(munmap);
    data_->region = region_, data_->region_bytes = kRegionBytes;
    data_->open_flags = RTLD_NOW | RTLD_LOCAL;
    data_->pause_ns = 1'000'000;
  }

  template <typename Function>
  static uint64_t Address(Function* function) {
    return reinterpret_cast<uint64_t>(function);
  }

  // Starts the thread, waits for its answer, and copies that.
  InjectedData RunWork() {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, reinterpret_cast<void* (*)(void*)>(helper_), data_), 0);
    while (__atomic_load_n(&data_->finished, __ATOMIC_ACQUIRE) == 0) sched_yield();
    return *data_;
  }
  // What the thread does then: all of the memory goes, also that of the code it runs.
  void AcknowledgeAndAwaitItsEnd() {
    __atomic_store_n(&data_->acknowledged, 1, __ATOMIC_RELEASE);
    uint32_t word;
    while (ReadMemory(getpid(), region_, &word, sizeof(word)) != 0) sched_yield();
  }

  uint64_t region_ = 0, helper_ = 0;
  InjectedData* data_ = nullptr;
};

void AnswerDone(wire::AttachRequest* request) {
  request->outcome = static_cast<uint32_t>(wire::AttachOutcome::kDone);
  request->slots = request->level_plus_one + 40;
}

TEST_F(WorkThreadTest, WithAnEntry_CallsItWithTheRequestAndLeavesNothingBehind) {
  data_->entry = Address(AnswerDone);
  data_->request.level_plus_one = 2;
  const InjectedData answer = RunWork();
  EXPECT_EQ(answer.failed, 0u);
  EXPECT_EQ(answer.request.outcome, static_cast<uint32_t>(wire::AttachOutcome::kDone));
  EXPECT_EQ(answer.request.slots, 42u);
  AcknowledgeAndAwaitItsEnd();
}

TEST_F(WorkThreadTest, ALibraryThatIsNotThere_FailsWithTheLoadersWords) {
  std::strcpy(data_->path, "/no/such/libstallscope.so");
  std::strcpy(data_->entry_name, "stallscope_attach");
  const InjectedData answer = RunWork();
  EXPECT_EQ(answer.failed, 1u);
  EXPECT_EQ(answer.request.outcome, 0u);
  const std::string text = ReadText(getpid(), answer.error_text, 400);
  EXPECT_NE(text.find("/no/such/libstallscope.so"), std::string::npos) << text;
  AcknowledgeAndAwaitItsEnd();
}

TEST_F(WorkThreadTest, ALibraryWithoutTheEntry_FailsWithTheLoadersWords) {
  std::strcpy(data_->path, "libc.so.6");
  std::strcpy(data_->entry_name, "stallscope_attach");
  const InjectedData answer = RunWork();
  EXPECT_EQ(answer.failed, 1u);
  EXPECT_NE(ReadText(getpid(), answer.error_text, 400).find("stallscope_attach"), std::string::npos);
  AcknowledgeAndAwaitItsEnd();
}

TEST_F(WorkThreadTest, Cancelled_DoesNotCallTheAgent) {
  data_->entry = Address(AnswerDone);
  data_->cancelled = 1;
  const InjectedData answer = RunWork();
  EXPECT_EQ(answer.failed, 0u);
  EXPECT_EQ(answer.request.outcome, static_cast<uint32_t>(wire::AttachOutcome::kNone));
  AcknowledgeAndAwaitItsEnd();
}

}  // namespace
}  // namespace stallscope::attach
