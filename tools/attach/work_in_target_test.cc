#include "tools/attach/work_in_target.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace stallscope::attach {
namespace {

const Undertaking kAttach = {4711, "server", "attach to"};

InjectedData Answered(wire::AttachOutcome outcome, const std::string& why = "") {
  InjectedData data{};
  data.request.outcome = static_cast<uint32_t>(outcome);
  std::memcpy(data.request.why, why.data(), why.size());
  return data;
}

std::string Message(const InjectedData& data, const std::string& error_text = "") {
  return std::string(JudgeAnswer(data, error_text, kAttach).message());
}

TEST(JudgeAnswer, DoneNowOrBefore_IsWell) {
  EXPECT_TRUE(JudgeAnswer(Answered(wire::AttachOutcome::kDone), "", kAttach).ok());
  EXPECT_TRUE(JudgeAnswer(Answered(wire::AttachOutcome::kAlready), "", kAttach).ok());
}

TEST(JudgeAnswer, ARefusal_IsGivenInTheAgentsWords) {
  EXPECT_EQ(Message(Answered(wire::AttachOutcome::kRefused, "there is no shared memory")),
            "cannot attach to 4711 (server): there is no shared memory. Start it under stallscope run.");
}

TEST(JudgeAnswer, AnotherVersion_IsNamed) {
  EXPECT_EQ(Message(Answered(wire::AttachOutcome::kOtherVersion)),
            "cannot attach to 4711 (server): another version of the agent is in it. Use the stallscope that it came "
            "with.");
}

TEST(JudgeAnswer, WhatTheLoaderSays_ComesBeforeTheAgentsAnswer) {
  InjectedData data = Answered(wire::AttachOutcome::kDone);
  data.failed = 1;
  EXPECT_EQ(Message(data, "libstallscope.so: cannot open shared object file"),
            "cannot attach to 4711 (server): its loader says: libstallscope.so: cannot open shared object file. Start "
            "it under stallscope run.");
}

TEST(JudgeAnswer, NoAnswerAtAll_SaysSo) {
  EXPECT_EQ(Message(Answered(wire::AttachOutcome::kNone)),
            "cannot attach to 4711 (server): the agent in it gave no answer. Start it under stallscope run.");
}

TEST(JudgeAnswer, WordsWithoutAnEnd_StayInTheirField) {
  InjectedData data = Answered(wire::AttachOutcome::kRefused);
  std::memset(data.request.why, 'x', sizeof(data.request.why));
  std::memset(data.entry_name, 'y', sizeof(data.entry_name));
  EXPECT_EQ(Message(data), "cannot attach to 4711 (server): " + std::string(sizeof(data.request.why), 'x') +
                               ". Start it under stallscope run.");
}

}  // namespace
}  // namespace stallscope::attach
