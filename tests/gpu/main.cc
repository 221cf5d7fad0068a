// gpu_probe QUESTION [VARIANT]: one question, one JSON line on stdout: {"answer":...} or {"not_answered":reason}.
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>

#include "tests/gpu/cupti_access.h"
#include "tests/gpu/questions.h"

int main(int argc, char** argv) {
  using gpu_probe::Answer;
  const std::string variant = argc > 2 ? argv[2] : "";
  const std::map<std::string, std::function<Answer()>> questions = {
      {"device", gpu_probe::AskDevice},
      {"launch_callbacks", gpu_probe::AskLaunchCallbacks},
      {"correlation", gpu_probe::AskCorrelation},
      {"external_ids", gpu_probe::AskExternalIds},
      {"flush_unfinished", gpu_probe::AskFlushUnfinished},
      {"implicit_synchronization", gpu_probe::AskImplicitSynchronization},
      {"graph_trace", gpu_probe::AskGraphTrace},
      {"detail_cost", [&] { return gpu_probe::AskDetailCost(variant != "eager"); }},
      {"clocks", gpu_probe::AskClocks},
      {"over_wait", [&] { return gpu_probe::AskOverWait(variant); }},
  };
  const auto question = argc > 1 ? questions.find(argv[1]) : questions.end();
  if (question == questions.end()) {
    std::fprintf(stderr, "usage: gpu_probe QUESTION [VARIANT]; questions are:");
    for (const auto& [name, ask] : questions) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  Answer line;
  try {
    line["answer"] = question->second();
  } catch (const std::exception& reason) {
    line["not_answered"] = reason.what();
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
  return 0;
}
