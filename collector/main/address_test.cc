#include "collector/main/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "collector/main/collector.h"

namespace stallscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AddressTest : public ::testing::Test {
 protected:
  AddressTest() : folder("/tmp/stallscope-address-test-" + std::to_string(getpid())), socket(folder + "/c.sock") {
    std::filesystem::remove_all(folder);
    setenv("STALLSCOPE_SOCKET", socket.c_str(), 1);
  }
  ~AddressTest() override {
    unsetenv("STALLSCOPE_SOCKET");
    std::filesystem::remove_all(folder);
  }
  const std::string folder, socket;
};

TEST_F(AddressTest, Folder_IsMadeForItsUserAlone) {
  auto claim = AddressClaim::Take(socket);
  ASSERT_TRUE(claim.ok()) << claim.status();
  struct stat status;
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(AddressTest, SecondCollector_IsToldThePidOfTheFirst) {
  auto claim = AddressClaim::Take(socket);
  ASSERT_TRUE(claim.ok());
  ASSERT_TRUE(claim->Publish("127.0.0.1:1", 5).ok());
  const absl::Status second = AddressClaim::Take(socket).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.message()), HasSubstr("pid " + std::to_string(getpid())));
  EXPECT_THAT(std::string(second.message()), HasSubstr(socket));
}

TEST_F(AddressTest, WhatADeadCollectorLeft_IsReplaced) {
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::ofstream(socket + ".json") << R"({"pid":1,"socket":")" << socket << R"(","http":"127.0.0.1:9","started_ns":1})";
  EXPECT_THAT(FindCollectors(), IsEmpty());
  EXPECT_TRUE(AddressClaim::Take(socket).ok());
}

TEST_F(AddressTest, SocketInAnotherFolder_IsFoundByItsName) {
  auto claim = AddressClaim::Take(socket);
  ASSERT_TRUE(claim.ok());
  ASSERT_TRUE(claim->Publish("127.0.0.1:1", 5).ok());
  setenv("STALLSCOPE_SOCKET", "/tmp/stallscope-somewhere-else/c.sock", 1);
  const std::optional<CollectorAddress> found = FindCollectorAt(socket);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->http, "127.0.0.1:1");
  EXPECT_FALSE(FindCollectorAt(folder + "/other.sock").has_value());
}

TEST_F(AddressTest, LiveCollectors_AreFoundNewestFirst) {
  auto older = AddressClaim::Take(socket);
  auto newer = AddressClaim::Take(folder + "/run-7.sock");
  ASSERT_TRUE(older.ok() && newer.ok());
  ASSERT_TRUE(older->Publish("127.0.0.1:1", 100).ok());
  ASSERT_TRUE(newer->Publish("", 200).ok());
  std::ofstream(folder + "/broken.json") << "{";
  const std::vector<CollectorAddress> found = FindCollectors();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].socket, folder + "/run-7.sock");
  EXPECT_EQ(found[1].http, "127.0.0.1:1");
  EXPECT_EQ(found[1].pid, static_cast<uint32_t>(getpid()));
}

TEST_F(AddressTest, GivenUp_LeavesNothingBehind) {
  {
    auto claim = AddressClaim::Take(socket);
    ASSERT_TRUE(claim.ok() && claim->Publish("", 1).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_TRUE(AddressClaim::Take(socket).ok());
}

TEST_F(AddressTest, FileInTheSocketsPlace_IsNotRemoved) {
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::ofstream(socket) << "precious";
  EXPECT_EQ(AddressClaim::Take(socket).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_regular_file(socket));
}

TEST_F(AddressTest, FolderThatOthersMayWrite_IsRefused) {
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  EXPECT_EQ(AddressClaim::Take(socket).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(AddressTest, PathTooLongForASocket_IsSaid) {
  EXPECT_EQ(AddressClaim::Take("/tmp/" + std::string(200, 'x')).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stallscope
