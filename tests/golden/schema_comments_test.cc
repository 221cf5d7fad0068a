// The schema documents itself: everything in proto/stallscope/v1 has a comment of its own that says more than its name.
//
// Compiled-in descriptors have lost their comments: the build writes schema_with_comments.bin, which this reads.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stallscope::golden {
namespace {

namespace pb = google::protobuf;

using Names = std::vector<std::string>;

std::set<std::string> WordsOf(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

// Everything of a file that has no comment, or one that only repeats its name.
class Undocumented {
 public:
  Names Of(const pb::FileDescriptor& file) {
    for (int i = 0; i < file.message_type_count(); ++i) Look(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) Look(*file.enum_type(i));
    return names_;
  }

 private:
  template <typename Descriptor>
  void Check(const Descriptor& thing) {
    pb::SourceLocation place;
    std::set<std::string> said;
    if (thing.GetSourceLocation(&place)) said = WordsOf(place.leading_comments + " " + place.trailing_comments);
    for (const std::string& word : WordsOf(thing.name() + " the a an of its")) said.erase(word);
    if (said.empty()) names_.push_back(thing.name());
  }

  void Look(const pb::EnumDescriptor& type) {
    Check(type);
    for (int i = 0; i < type.value_count(); ++i) Check(*type.value(i));
  }

  void Look(const pb::Descriptor& message) {
    Check(message);
    for (int i = 0; i < message.field_count(); ++i) Check(*message.field(i));
    for (int i = 0; i < message.real_oneof_decl_count(); ++i) Check(*message.oneof_decl(i));
    for (int i = 0; i < message.nested_type_count(); ++i) Look(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) Look(*message.enum_type(i));
  }

  Names names_;
};

Names UndocumentedIn(const std::string& name) {
  const char* build = std::getenv("STALLSCOPE_BUILD");
  std::ifstream in(std::string(build != nullptr ? build : ".") + "/tests/golden/schema_with_comments.bin",
                   std::ios::binary);
  pb::FileDescriptorSet set;
  if (!set.ParseFromIstream(&in)) return {"schema_with_comments.bin cannot be read"};
  pb::DescriptorPool pool;
  const pb::FileDescriptor* found = nullptr;
  for (const pb::FileDescriptorProto& proto : set.file()) {
    const pb::FileDescriptor* file = pool.BuildFile(proto);
    if (proto.name() == name) found = file;
  }
  return found == nullptr ? Names{"no " + name} : Undocumented().Of(*found);
}

constexpr const char* kWhatToDo =
    "say in its .proto what it means: unit, who writes it, which value means unknown, what its absence means";

TEST(SchemaComments, EveryMessageFieldAndValueOfBatch_HasOne) {
  EXPECT_EQ(UndocumentedIn("stallscope/v1/batch.proto"), Names{}) << kWhatToDo;
}

TEST(SchemaComments, EveryMessageFieldAndValueOfFrame_HasOne) {
  EXPECT_EQ(UndocumentedIn("stallscope/v1/frame.proto"), Names{}) << kWhatToDo;
}

TEST(SchemaComments, MissingAndEmptyOnes_AreFound) {
  EXPECT_EQ(UndocumentedIn("half_documented.proto"),
            (Names{"bad_bare", "bad_level", "bad_which", "BadMood", "BAD_BRIGHT", "BadMessage"}));
}

}  // namespace
}  // namespace stallscope::golden
