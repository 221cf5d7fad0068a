#include "tools/cli/target_program.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

using testing::HasSubstr;

std::string Elf(uint16_t machine, std::string_view loader) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = machine;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = loader.empty() ? PT_LOAD : PT_INTERP;
  segment.p_offset = sizeof(header) + sizeof(segment);
  segment.p_filesz = loader.size();
  std::string bytes(sizeof(header) + sizeof(segment), '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), &segment, sizeof(segment));
  return bytes + std::string(loader);
}

constexpr std::string_view kGlibcLoader = "/lib64/ld-linux-x86-64.so.2";

TEST(InspectElf, DynamicGlibcProgram_IsFine) { EXPECT_TRUE(InspectElf("/x", Elf(EM_X86_64, kGlibcLoader)).ok()); }

TEST(InspectElf, NoLoader_IsStatic) {
  EXPECT_THAT(std::string(InspectElf("/x", Elf(EM_X86_64, "")).message()), HasSubstr("static"));
}

TEST(InspectElf, MuslLoader_IsNamed) {
  EXPECT_THAT(std::string(InspectElf("/x", Elf(EM_X86_64, "/lib/ld-musl-x86_64.so.1")).message()), HasSubstr("musl"));
}

TEST(InspectElf, AnotherMachine_IsRefused) {
  EXPECT_THAT(std::string(InspectElf("/x", Elf(EM_AARCH64, kGlibcLoader)).message()), HasSubstr("x86-64"));
}

TEST(InspectElf, HostileProgramHeaders_AreRefusedWithoutReadingOutside) {
  std::string bytes = Elf(EM_X86_64, kGlibcLoader);
  const uint64_t far_away = ~uint64_t{0} - 8;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_phoff), &far_away, sizeof(far_away));
  EXPECT_FALSE(InspectElf("/x", bytes).ok());
  EXPECT_FALSE(InspectElf("/x", bytes.substr(0, 20)).ok());
}

class InspectTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/target_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string Message(const std::string& command, Credentials credentials) {
    return std::string(InspectTarget(command, folder_, credentials).status().message());
  }

  std::string folder_;
  const Credentials owner_ = Credentials::OfThisProcess();
};

TEST_F(InspectTargetTest, CommandInPath_IsFound) {
  const std::string path = Write("tool", Elf(EM_X86_64, kGlibcLoader));
  auto target = InspectTarget("tool", "/nonexistent:" + folder_, owner_);
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->path, path);
}

TEST_F(InspectTargetTest, UnknownCommand_IsNotFound) {
  EXPECT_EQ(InspectTarget("nosuch", folder_, owner_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(InspectTarget(folder_ + "/nosuch", folder_, owner_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(InspectTarget(folder_, folder_, owner_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(InspectTargetTest, SetuidOfAnotherUser_IsRefused) {
  const std::string path = Write("su", Elf(EM_X86_64, kGlibcLoader), 04755);
  EXPECT_THAT(Message(path, {owner_.uid + 1, owner_.gid}), HasSubstr("setuid"));
  EXPECT_TRUE(InspectTarget(path, "", owner_).ok()) << "set-id to oneself changes nothing";
}

TEST_F(InspectTargetTest, ScriptWithStaticInterpreter_NamesBoth) {
  const std::string interpreter = Write("interp", Elf(EM_X86_64, ""));
  const std::string script = Write("script", "#! " + interpreter + " -u\nhello\n");
  EXPECT_THAT(Message(script, owner_), testing::AllOf(HasSubstr("static"), HasSubstr("interpreter of " + script)));
}

TEST_F(InspectTargetTest, ScriptThroughEnv_LooksAtTheRealInterpreter) {
  Write("interp", Elf(EM_X86_64, "/lib/ld-musl-x86_64.so.1"));
  const std::string script = Write("script", "#!/usr/bin/env -S A=1 interp -u\n");
  EXPECT_THAT(Message(script, owner_), HasSubstr("musl"));
}

TEST_F(InspectTargetTest, ScriptThatInterpretsItself_Ends) {
  const std::string script = folder_ + "/loop";
  Write("loop", "#!" + script + "\n");
  EXPECT_TRUE(InspectTarget(script, "", owner_).ok());
}

}  // namespace
}  // namespace stallscope::cli
