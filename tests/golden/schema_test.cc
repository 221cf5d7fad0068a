// The schema may grow, never turn around: every message, field and enum value of the stored descriptor must still be
// there with its number, type and label. What is new must be stored as well (see golden_file.h), so that it cannot be
// changed later.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "stallscope/v1/frame.pb.h"
#include "tests/golden/golden_file.h"

namespace stallscope::golden {
namespace {

namespace pb = google::protobuf;

constexpr const char* kFile = "schema.txtpb";

pb::FileDescriptorSet CurrentSchema() {
  pb::FileDescriptorSet set;
  v1::Batch::descriptor()->file()->CopyTo(set.add_file());
  v1::Frame::descriptor()->file()->CopyTo(set.add_file());
  return set;
}

// Everything a reader of old bytes relies on, one fact a line.
using Facts = std::set<std::string>;

void AddEnum(const std::string& scope, const pb::EnumDescriptorProto& proto, Facts* facts) {
  for (const auto& value : proto.value()) {
    facts->insert("enum " + scope + proto.name() + ": " + value.name() + " = " + std::to_string(value.number()));
  }
}

void AddMessage(const std::string& scope, const pb::DescriptorProto& message, Facts* facts) {
  const std::string name = scope + message.name();
  facts->insert("message " + name);
  for (const auto& field : message.field()) {
    std::string type =
        field.type_name().empty() ? pb::FieldDescriptorProto::Type_Name(field.type()) : field.type_name();
    facts->insert("message " + name + ": " + pb::FieldDescriptorProto::Label_Name(field.label()) + " " + type + " " +
                  field.name() + " = " + std::to_string(field.number()));
  }
  for (const auto& nested : message.nested_type()) AddMessage(name + ".", nested, facts);
  for (const auto& nested : message.enum_type()) AddEnum(name + ".", nested, facts);
}

Facts FactsOf(const pb::FileDescriptorSet& schema) {
  Facts facts;
  for (const auto& file : schema.file()) {
    for (const auto& message : file.message_type()) AddMessage(file.package() + ".", message, &facts);
    for (const auto& proto : file.enum_type()) AddEnum(file.package() + ".", proto, &facts);
  }
  return facts;
}

std::string Missing(const Facts& facts, const Facts& from) {
  std::string lines;
  for (const std::string& fact : facts) {
    if (from.count(fact) == 0) lines += "  " + fact + "\n";
  }
  return lines;
}

TEST(StoredSchema, WhatWasThere_IsStillThere) {
  pb::FileDescriptorSet stored;
  const std::string text = Read(kFile);
  ASSERT_TRUE(text.empty() || pb::TextFormat::ParseFromString(text, &stored));
  const pb::FileDescriptorSet current = CurrentSchema();
  const std::string broken = Missing(FactsOf(stored), FactsOf(current));
  EXPECT_EQ(broken, "")
      << "removed, renamed, renumbered or of another type: old captures and agents would be misread. Keep the "
         "field, or reserve its number and add a new one.";
  const std::string added = Missing(FactsOf(current), FactsOf(stored));
  if (Updating() && broken.empty()) {
    std::string renewed;
    ASSERT_TRUE(pb::TextFormat::PrintToString(current, &renewed));
    ASSERT_TRUE(Write(kFile, renewed));
    return;
  }
  EXPECT_EQ(added, "") << kHowToAccept;
}

TEST(StoredSchema, Comparison_NoticesARenumberedField) {
  pb::FileDescriptorSet changed = CurrentSchema();
  const Facts before = FactsOf(changed);
  changed.mutable_file(0)->mutable_message_type(0)->mutable_field(0)->set_number(77);
  EXPECT_NE(Missing(before, FactsOf(changed)), "");
}

TEST(StoredSchema, Comparison_NoticesARemovedFieldAndAChangedType) {
  pb::FileDescriptorSet changed = CurrentSchema();
  const Facts before = FactsOf(changed);
  changed.mutable_file(0)->mutable_message_type(1)->mutable_field()->RemoveLast();
  EXPECT_NE(Missing(before, FactsOf(changed)), "");
  changed = CurrentSchema();
  changed.mutable_file(1)->mutable_message_type(1)->mutable_field(0)->set_type(pb::FieldDescriptorProto::TYPE_SINT32);
  EXPECT_NE(Missing(before, FactsOf(changed)), "");
}

}  // namespace
}  // namespace stallscope::golden
