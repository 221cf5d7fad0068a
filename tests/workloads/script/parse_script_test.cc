#include "tests/workloads/script/parse_script.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/workloads/script/summarize_script.h"

namespace workloads::script {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string SourceFile(const std::string& name) {
  return std::string(std::getenv("STALLSCOPE_SOURCE")) + "/tests/workloads/script/" + name;
}

// The error of a script with this text after its first line.
std::string ErrorOf(const std::string& text) {
  std::string error;
  const std::optional<Script> script = ParseScript("s", "stallscope-script 1\n" + text, &error);
  EXPECT_EQ(script.has_value(), error.empty());
  return error;
}
std::string ErrorInThread(const std::string& lines) {
  return ErrorOf("stream a\nmutex m\nqueue q\nevent e\nthread t\n" + lines + "\nend\n");
}

TEST(ParseScript, Example_HasWhatItSays) {
  std::string error;
  const std::optional<Script> script = ReadScript(SourceFile("example.script"), &error);
  ASSERT_TRUE(script) << error;
  const nlohmann::json summary = SummarizeScript(*script);
  EXPECT_EQ(summary["threads"], 2);
  EXPECT_EQ(summary["kernels"], 20 * 4);
  EXPECT_EQ(summary["copies"], 20 * 2 + 1);
  EXPECT_EQ(summary["fills"], 20);
  EXPECT_EQ(summary["graph_launches"], 20);
  EXPECT_EQ(summary["steps"], 20);
  EXPECT_EQ(summary["names"]["mul_mat_q"], nlohmann::json({20, 20 * 20'000}));
  EXPECT_EQ(summary["names"]["copy \"tokens\""], nlohmann::json({20, 20 * 2500}));
  const Stream& compute = script->streams[1];
  EXPECT_EQ(compute.kind, Stream::Kind::kNonBlocking);
  EXPECT_EQ(compute.priority, -1);
  EXPECT_EQ(script->graphs[0].nodes[1].work.grid.y, 2u);
  EXPECT_EQ(script->graphs[0].nodes[2].branch, 1u);
}

TEST(ParseScript, ScriptInTheDocument_IsSound) {
  std::ifstream file(std::string(std::getenv("STALLSCOPE_SOURCE")) + "/docs/workload-scripts.md");
  std::string document{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, error;
  const size_t begin = document.find("```\nstallscope-script 1\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string text = document.substr(begin + 4, document.find("\n```\n", begin) - begin - 3);
  EXPECT_TRUE(ParseScript("s", text, &error)) << error;
}

TEST(ParseScript, Times_AreWholeNanoseconds) {
  std::string error;
  const std::optional<Script> script = ParseScript(
      "s", "stallscope-script 1\nthread t\nwork 1.5us\nwork 0ns\nwork 2.000001ms\nsleep 1s # a comment\nend", &error);
  ASSERT_TRUE(script) << error;
  const std::vector<Statement>& statements = script->threads[0].statements;
  EXPECT_EQ(statements[0].duration_ns, 1500u);
  EXPECT_EQ(statements[1].duration_ns, 0u);
  EXPECT_EQ(statements[2].duration_ns, 2'000'001u);
  EXPECT_EQ(statements[3].duration_ns, 1'000'000'000u);
}

TEST(MalformedScript, NamesFileLineColumnAndWhatWasExpected) {
  std::string error;
  EXPECT_FALSE(
      ParseScript("decode.script", "stallscope-script 1\nstream a\nthread t\n  launch a 5 \"k\"\nend\n", &error));
  EXPECT_EQ(error, "decode.script:4:12: expected the kernel's duration such as 12.5us (ns, us, ms or s), found \"5\"");
}

TEST(MalformedScript, HeadAndEndsMustBeThere) {
  std::string error;
  EXPECT_FALSE(ParseScript("s", "", &error));
  EXPECT_THAT(error, StartsWith("s:1:1: expected `stallscope-script 1`"));
  EXPECT_FALSE(ParseScript("s", "stallscope-script 2\n", &error));
  EXPECT_THAT(error, StartsWith("s:1:19: expected the version of the grammar from 1 to 1"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("expected at least one `thread NAME`"));
  EXPECT_THAT(ErrorOf("thread t\nwork 1us\n"), HasSubstr("expected `end` of thread t (line 2)"));
  EXPECT_THAT(ErrorOf("thread t\nrepeat 3\nwork 1us\n"), HasSubstr("expected `end` of the repeat of line 3"));
  EXPECT_THAT(ErrorOf("graph g\nkernel 1us \"k\"\n"), HasSubstr("expected `end` of graph g (line 2)"));
}

TEST(MalformedScript, WordsAreNamed) {
  EXPECT_THAT(ErrorOf("strem a\n"), StartsWith("s:2:1: expected stream, event, mutex, queue, graph or thread"));
  EXPECT_THAT(ErrorOf("stream a\nstream a\n"), StartsWith("s:3:8: expected a new name"));
  EXPECT_THAT(ErrorInThread("lunch a"), StartsWith("s:7:1: expected launch, copy"));
  EXPECT_THAT(ErrorInThread("launch b 1us \"k\""), StartsWith("s:7:8: there is no stream b"));
  EXPECT_THAT(ErrorInThread("launch a 1us k"), StartsWith("s:7:14: expected the kernel's name in quotes"));
  EXPECT_THAT(ErrorInThread("launch a 1us \"k"), StartsWith("s:7:14: expected a closing quote"));
  EXPECT_THAT(ErrorInThread("launch a 1us \"k\" grid=0"), StartsWith("s:7:23: expected a grid such as 12"));
  EXPECT_THAT(ErrorInThread("launch a 1us \"k\" bytes=4"), StartsWith("s:7:18: expected grid=, block="));
  EXPECT_THAT(ErrorInThread("copy a up 4 1us"), StartsWith("s:7:8: expected h2d, d2h, d2d, h2h or p2p"));
  EXPECT_THAT(ErrorInThread("copy a h2d 0 1us"), StartsWith("s:7:12: expected bytes from 1"));
  EXPECT_THAT(ErrorInThread("copy a h2d 4 1us sync"), HasSubstr("a sync copy runs on a legacy default stream"));
  EXPECT_THAT(ErrorInThread("sync a"), StartsWith("s:7:6: expected stream, event or device"));
  EXPECT_THAT(ErrorInThread("sync device for=0ns"), StartsWith("s:7:17: \"0ns\" is too short"));
  EXPECT_THAT(ErrorInThread("work 1us 2us"), StartsWith("s:7:10: expected the end of the line"));
  EXPECT_THAT(ErrorInThread("work"),
              StartsWith("s:7:5: expected a time such as 12.5us (ns, us, ms or s), found the end"));
}

TEST(MalformedScript, TimesOutOfRangeAreRefused) {
  EXPECT_THAT(ErrorInThread("work -5us"),
              HasSubstr(":7:6: expected a time such as 12.5us (ns, us, ms or s), found the negative"));
  EXPECT_THAT(ErrorInThread("launch a 0ns \"k\""), HasSubstr(":7:10: \"0ns\" is too short"));
  EXPECT_THAT(ErrorInThread("sleep 86401s"), HasSubstr("beyond the range: at most a day"));
  EXPECT_THAT(ErrorInThread("sleep 99999999999999999999s"), HasSubstr("is beyond every range"));
  EXPECT_THAT(ErrorInThread("work 1.0001us"), HasSubstr("is finer than a nanosecond"));
  EXPECT_THAT(ErrorInThread("launch a 1us \"k\" at=-1us"), HasSubstr(":7:21: expected a begin"));
  EXPECT_THAT(ErrorInThread("repeat 2\nlaunch a 1us \"k\" at=1us\nend"), HasSubstr(":8:21: `at=` inside `repeat`"));
}

TEST(ImpossibleScript, OverlapInOneStream_NamesBothLines) {
  EXPECT_THAT(ErrorInThread("launch a 5us \"k\" at=10us\nlaunch a 5us \"k\" at=14.999us"),
              HasSubstr("s:8:1: impossible timing: this begins on stream a at 14999ns, before the work of line 7 ends "
                        "there (15000ns)"));
  EXPECT_EQ(ErrorInThread("launch a 5us \"k\" at=10us\nlaunch a 5us \"k\" at=15us"), "");
  EXPECT_EQ(ErrorInThread("launch a 5us \"k\" at=10us\nlaunch default 5us \"k\" at=11us"), "");
}

TEST(ImpossibleScript, OverlapBetweenThreads_IsFound) {
  const std::string head = "stream a\nstream own per_thread\nthread t\nlaunch a 5us \"k\" at=10us\nend\nthread u\n";
  EXPECT_THAT(ErrorOf(head + "launch a 5us \"k\" at=12us\nend\n"), HasSubstr("impossible timing"));
  EXPECT_EQ(ErrorOf(head + "launch a 5us \"k\" at=2us\nend\n"), "");
  EXPECT_EQ(ErrorOf("stream own per_thread\nthread t\nlaunch own 5us \"k\" at=10us\nend\nthread u\n"
                    "launch own 5us \"k\" at=12us\nend\n"),
            "");
}

TEST(ImpossibleScript, GraphNodesOverlapInOneBranchOnly) {
  const std::string head = "graph g\nkernel 5us \"k\" at=1us\nkernel 5us \"k\" at=4us";
  EXPECT_THAT(ErrorOf(head + "\nend\nthread t\nend\n"), HasSubstr("s:4:1: impossible timing"));
  EXPECT_EQ(ErrorOf(head + " branch=1\nend\nthread t\nend\n"), "");
  EXPECT_THAT(ErrorOf("stream a\ngraph g\nkernel 5us \"k\"\nkernel 5us \"k\"\nend\nthread t\ngraph a g at=1us\n"
                      "launch a 1us \"k\" at=10us\nend\n"),
              HasSubstr("s:9:1: impossible timing"));
}

TEST(ImpossibleScript, LocksAndQueuesThatWouldWaitForEver) {
  EXPECT_THAT(ErrorInThread("lock m\nlock m"), HasSubstr("this thread holds m already"));
  EXPECT_THAT(ErrorInThread("unlock m"), HasSubstr("this thread does not hold m"));
  EXPECT_THAT(ErrorInThread("lock m"), HasSubstr("s:7:1: m is not unlocked before the thread ends"));
  EXPECT_THAT(ErrorInThread("repeat 2\nlock m\nend\nunlock m"), HasSubstr("must be unlocked in it"));
  EXPECT_THAT(ErrorInThread("put q\nrepeat 2\ntake q\nend"), HasSubstr("q is put 1 times and taken 2 times"));
  EXPECT_THAT(ErrorOf("queue q capacity=2\nthread t\nrepeat 3\nput q\nend\nend\n"), HasSubstr("and holds 2"));
  EXPECT_THAT(ErrorInThread("free device"), HasSubstr("nothing of this kind is allocated"));
  EXPECT_THAT(ErrorInThread("repeat 999999999\nrepeat 999999999\nwork 1us\nend\nend"),
              HasSubstr("more than a billion"));
}

// Any bytes are survived, and what is refused is refused with a place.
class Mutated : public testing::Test {
 protected:
  void Try(const std::string& text) {
    std::string error;
    const std::optional<Script> script = ParseScript("s", text, &error);
    if (script) {
      ++accepted_;
      EXPECT_TRUE(error.empty());
    } else {
      ASSERT_THAT(error, testing::MatchesRegex("s:[0-9]+:[0-9]+: (.|\n)+")) << text;
      ASSERT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
  static std::string Example() {
    std::string error, text;
    FILE* file = std::fopen(SourceFile("example.script").c_str(), "r");
    for (int c; file != nullptr && (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    if (file != nullptr) std::fclose(file);
    return text;
  }
  int accepted_ = 0;
};

TEST_F(Mutated, TruncatedAnywhere_IsRefusedOrWhole) {
  const std::string text = Example();
  ASSERT_GT(text.size(), 500u);
  for (size_t length = 0; length < text.size(); ++length) Try(text.substr(0, length));
  EXPECT_EQ(accepted_, 1);  // only the last newline may be missing
}

TEST_F(Mutated, BytesAndWordsChanged_AreRefusedOrSound) {
  const std::string text = Example();
  std::mt19937 random(20'260'101);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string alphabet = " \t\"\\#=.-x019azA_\n\r\x01\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string mutated = text;
    for (size_t changes = 1 + below(4); changes > 0 && !mutated.empty(); --changes) {
      const size_t at = below(mutated.size());
      switch (below(5)) {
        case 0:
          mutated[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          mutated.erase(at, 1 + below(20));
          break;
        case 2:
          mutated.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 3:
          mutated.insert(at, mutated.substr(below(mutated.size()), below(40)));
          break;
        case 4:
          mutated.resize(at);
          break;
      }
    }
    Try(mutated);
  }
  EXPECT_GT(accepted_, 100);
  EXPECT_LT(accepted_, 19'900);
}

}  // namespace
}  // namespace workloads::script
