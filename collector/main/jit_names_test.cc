#include "collector/main/jit_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

class NoModules : public ProcessNames {
 public:
  std::string_view String(StringId) const override { return {}; }
  std::string_view CallName(wire::CudaDomain, uint16_t) const override { return {}; }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }
  const ModuleInfo* Module(uint64_t address, uint32_t) const override { return address < 0x1000 ? &module_ : nullptr; }

 private:
  ModuleInfo module_;
};

class JitNamesTest : public ::testing::Test {
 protected:
  JitNamesTest() {
    char name[] = "/tmp/stallscope-jit-XXXXXX";
    root_ = mkdtemp(name);
    std::filesystem::create_directory(root_ + "/tmp");
  }
  ~JitNamesTest() override { std::filesystem::remove_all(root_); }
  std::string File() const { return root_ + "/tmp/perf-999999.map"; }
  void Append(const std::string& text) { std::ofstream(File(), std::ios::app) << text; }
  v1::Intern Look(JitNames* jit, std::vector<uint64_t> addresses) {
    v1::Intern stacks, found;
    for (const uint64_t address : addresses) stacks.add_stacks()->add_frames(address);
    jit->OnStacks(stacks, names_);
    jit->LookUp(&found);
    return found;
  }
  std::string root_;
  NoModules names_;
};

TEST_F(JitNamesTest, AddressesInStacks_AreNamedOnce) {
  Append("7f0000 20 py::step:/srv/engine.py\n0x7f0020 0x20 py::other:/srv/engine.py\n");
  JitNames jit(root_, 999999, getuid());
  const v1::Intern found = Look(&jit, {0x7f0010, 0x500});
  ASSERT_EQ(found.codes_size(), 1);
  EXPECT_EQ(found.codes(0).name(), "py::step:/srv/engine.py");
  EXPECT_EQ(found.codes(0).begin(), 0x7f0000u);
  EXPECT_EQ(found.codes(0).bytes(), 0x20u);
  EXPECT_EQ(Look(&jit, {0x7f0010}).codes_size(), 0);
  EXPECT_EQ(Look(&jit, {0x7f0020}).codes_size(), 0) << "a return address at a function's begin is the one before's";
  EXPECT_EQ(Look(&jit, {0x7f0021}).codes(0).name(), "py::other:/srv/engine.py");
}

TEST_F(JitNamesTest, LinesAddedLater_AreReadOn) {
  Append("7f0000 20 one\n7f00");
  JitNames jit(root_, 999999, getuid());
  EXPECT_EQ(Look(&jit, {0x7f0051}).codes_size(), 0);
  Append("40 20 two\n");
  EXPECT_EQ(Look(&jit, {0x7f0001}).codes_size(), 2) << "the one asked for before comes too";
}

TEST_F(JitNamesTest, LinesThatAreNone_AreSkipped) {
  Append("zz 10 bad\n7f0000\n7f0000 0 empty\n\n7f0000 ffffffffffffffffff big\n7f0100 8 good\n");
  JitNames jit(root_, 999999, getuid());
  EXPECT_EQ(Look(&jit, {0x7f0001, 0x7f0101}).codes_size(), 1);
}

TEST_F(JitNamesTest, LinksAndOtherPeoplesFiles_AreNotRead) {
  std::ofstream(root_ + "/secret") << "7f0000 20 secret\n";
  ASSERT_EQ(symlink((root_ + "/secret").c_str(), File().c_str()), 0);
  JitNames linked(root_, 999999, getuid());
  EXPECT_EQ(Look(&linked, {0x7f0001}).codes_size(), 0);
  ASSERT_EQ(unlink(File().c_str()), 0);
  Append("7f0000 20 mine\n");
  JitNames other(root_, 999999, getuid() + 1);
  EXPECT_EQ(Look(&other, {0x7f0001}).codes_size(), 0);
  ASSERT_EQ(unlink(File().c_str()), 0);
  ASSERT_EQ(mkfifo(File().c_str(), 0600), 0);
  JitNames pipe(root_, 999999, getuid());
  EXPECT_EQ(Look(&pipe, {0x7f0001}).codes_size(), 0) << "and it does not wait for a writer";
}

}  // namespace
}  // namespace stallscope
