#!/usr/bin/env python3
"""The checks find what they are for: each is run on a small tree with one violation, and on one without."""
import pathlib
import tempfile
import unittest

import cuda_calls_page
import docs_paths
import include_rules
import summarize
import tree_rules
import wire_comments


class Tree:
    """A throwaway repository, gone after the test."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self


class IncludeRules(unittest.TestCase):
    def found(self, name, include):
        tree = Tree(self).write(name, f'// one line\n#include "{include}"\n')
        return list(include_rules.problems(tree.root))

    def test_earlier_stage_including_a_later_one_is_named_with_file_and_line(self):
        found = self.found("collector/timeline/lane.cc", "collector/budget/report.h")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("collector/timeline/lane.cc:2:"), found)

    def test_later_stage_including_an_earlier_one_is_fine(self):
        self.assertEqual(self.found("collector/budget/walk.cc", "collector/timeline/lane.h"), [])

    def test_collector_including_tools_is_refused(self):
        self.assertEqual(len(self.found("collector/serve/http.cc", "tools/cli/command.h")), 1)

    def test_agent_including_the_schema_is_refused(self):
        self.assertEqual(len(self.found("agent/stream/sender.cc", "proto/stallscope/v1/frame.pb.h")), 1)
        self.assertEqual(self.found("agent/stream/sender.cc", "proto/wire/shm.h"), [])

    def test_unknown_stage_is_refused(self):
        self.assertEqual(len(self.found("collector/budget/walk.cc", "collector/novelty/new.h")), 1)


class TreeRules(unittest.TestCase):
    def found(self, name, text):
        tree = Tree(self).write(name, text)
        return list(tree_rules.problems(tree.root))

    def test_machine_path_is_found(self):
        self.assertEqual(len(self.found("docs/a.md", "see /" + "home/alice/src/x\n")), 1)

    def test_paths_that_every_machine_has_are_fine(self):
        self.assertEqual(self.found("docs/a.md", "see /usr/lib, ~/" + "work/x and $HOME/" + "root/x\n"), [])

    def test_registry_host_is_found(self):
        self.assertEqual(len(self.found("a.json", '"resolved": "https://' + 'registry.' + 'npmjs.' + 'org/x"\n')), 1)

    def test_overlong_source_is_found(self):
        self.assertEqual(len(self.found("agent/os/hooks.cc", "\n" * (tree_rules.MAX_SOURCE_LINES + 1))), 1)

    def test_name_that_says_nothing_is_found(self):
        self.assertEqual(len(self.found("collector/base/" + "utils" + ".h", "\n")), 1)


class DocsPaths(unittest.TestCase):
    def found(self, text):
        tree = Tree(self).write("docs/a.md", text).write("agent/os/hooks.cc", "")
        return list(docs_paths.problems(tree.root, ["docs/a.md"]))

    def test_missing_path_is_found_with_its_line(self):
        found = self.found("one\n\n`agent/os/moved.cc`\n")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("docs/a.md:3:"), found)

    def test_existing_paths_patterns_and_braces_are_fine(self):
        self.assertEqual(self.found("`agent/os/hooks.cc` `agent/os/*.cc` `agent/<folder>/hooks.cc` `agent/os/{hooks.cc}`"), [])

    def test_missing_document_is_found(self):
        tree = Tree(self)
        self.assertEqual(len(list(docs_paths.problems(tree.root, ["docs/none.md"]))), 1)


class CudaCallsPage(unittest.TestCase):
    RUNTIME = """
#define STALLSCOPE_CUDA_TWIN(X, symbol, version, ...) \\
  X(symbol, symbol##_##version, __VA_ARGS__)
#define CALLS(X) \\
  X(cudaFree, cudaFree_v3020, kFree, (void* p), (p), 0, Freed(kDeviceMemory, P(p)), 0) /* (not this) */ \\
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyAsync, v3020, _ptsz, v7000, kCopyAsync, (void* a, int b), (a, b), P(stream), P(count), P(kind))
#define STALLSCOPE_CUDA_CALLS_LEFT_ALONE(X) \\
  X("cudaDeviceReset " \\
    "cudaFreeArray", "for a reason, and (another)")
"""

    def test_rows_and_twins_become_lines(self):
        table = cuda_calls_page.table(self.RUNTIME[:self.RUNTIME.index(cuda_calls_page.LEFT_ALONE)])
        self.assertIn("| `cudaFree` |  | release | the release with its address |", table)
        self.assertIn("| `cudaMemcpyAsync` | `cudaMemcpyAsync_ptsz` | asynchronous copy | stream, bytes, direction |", table)

    def test_calls_in_neither_table_are_found(self):
        header = "".join(f"extern cudaError_t CUDARTAPI {name}(void);\n" for name in
                         ("cudaFree", "cudaFreeArray", "cudaDeviceReset", "cudaGetDevice", "cudaMemcpyNewAsync", "cudaGraphAddMemcpyNode"))
        self.assertEqual(cuda_calls_page.forgotten(header, self.RUNTIME), ["cudaMemcpyNewAsync"])


class WireComments(unittest.TestCase):
    def found(self, text):
        return [what for _, what in wire_comments.undocumented(text.splitlines())]

    def test_missing_comments_are_named_with_their_line(self):
        text = """struct Bare {
  uint32_t pid;
  // --- a section says nothing about a field
  uint32_t tid;
};
// Says something.
enum class Level : uint8_t { kOff = 0 };
"""
        self.assertEqual([line for line, _ in wire_comments.undocumented(text.splitlines())], [1, 2, 4, 7])

    def test_fields_that_share_a_line_are_refused(self):
        self.assertEqual(len(self.found("// Offsets.\nstruct Header {\n  uint64_t slots, rings;  // bytes\n};\n")), 1)

    def test_comments_above_and_behind_are_fine(self):
        text = """// One thing.
struct Thing {
  uint32_t pid;  // its process
  // In ticks, and so long that it has
  // two lines.
  std::atomic<uint64_t> begin;
};
// How.
enum class Rule : uint8_t {
  kLong =
      1,  // broken by clang-format
#define STALLSCOPE_X(id) id,
};
"""
        self.assertEqual(self.found(text), [])


class Summarize(unittest.TestCase):
    GTEST = """[==========] Running 4 tests from 1 test suite.
[ RUN      ] Lane.Full
[       OK ] Lane.Full (0 ms)
[ RUN      ] Lane.NoGpu
lane_test.cc:12: Skipped
there is no GPU here

[  SKIPPED ] Lane.NoGpu (0 ms)
[ RUN      ] Lane.Wrong
lane_test.cc:20: Failure
[  FAILED  ] Lane.Wrong (0 ms)
[==========] 3 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Lane.NoGpu
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Lane.Wrong
"""

    def summary(self, *cases):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as junit:
            junit.write("<testsuite>" + "".join(cases) + "</testsuite>")
            junit.flush()
            total = summarize.Sum()
            total.add_junit(junit.name)
            return total

    def test_cases_of_a_gtest_binary_are_counted_one_by_one_with_reasons(self):
        total = self.summary(f'<testcase name="lane_test" status="fail"><failure message="Failed"/>'
                             f"<system-out>{self.GTEST}</system-out></testcase>")
        self.assertEqual(total.passed, 1)
        self.assertEqual(total.skipped, [("lane_test: Lane.NoGpu", "there is no GPU here")])
        self.assertEqual([name for name, _ in total.failed], ["lane_test: Lane.Wrong"])

    def test_script_that_skips_itself_gives_its_last_line_as_the_reason(self):
        total = self.summary('<testcase name="format" status="notrun"><system-out>SKIPPED: no clang-format</system-out></testcase>')
        self.assertEqual(total.skipped, [("format", "SKIPPED: no clang-format")])

    def test_crashed_binary_counts_as_one_failure(self):
        total = self.summary('<testcase name="lane_test" status="fail"><failure message="SEGFAULT"/><system-out>x</system-out></testcase>')
        self.assertEqual(len(total.failed), 1)
        self.assertIn("SEGFAULT", total.failed[0][1])


if __name__ == "__main__":
    unittest.main()
