// One line of a workload script as words, with the place of each, and the errors that name place and expectation:
//
//   prefill.script:12:9: expected a time such as 12.5us, found "12.5"
//
// A reader of a line is used up from left to right. The first error sticks; everything asked for afterwards is refused
// without another message, so that callers check once, at the end of a statement. Single thread.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_LINE_READER_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_LINE_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/workloads/script/script.h"

namespace workloads::script {

// "FILE:LINE:COLUMN: WHAT"
std::string ErrorAt(const std::string& file_name, Place place, const std::string& what);

struct Word {
  std::string text;  // of a quoted one: without quotes and escapes
  bool quoted = false;
  Place place;
};

class LineReader {
 public:
  // Cuts the line into words. `error` gets the first error and must be empty before.
  LineReader(const std::string& file_name, std::string_view line, uint32_t line_number, std::string* error);

  bool empty() const { return words_.empty(); }
  bool failed() const { return !error_->empty(); }
  // The next word's place, or the end of the line.
  Place Here() const;
  // Whether the next word is this one; takes it if so.
  bool Take(std::string_view word);
  // Whether the next word is `key=...`; takes it if so, and what follows reads the value.
  bool TakeKey(std::string_view key);
  bool Ahead(std::string_view word) const { return !AtEnd() && !words_[next_].quoted && words_[next_].text == word; }
  bool AtEnd() const { return next_ >= words_.size(); }

  // One word each; `expected` completes "expected ...".
  std::string Name(const std::string& expected);
  std::string Quoted(const std::string& expected);
  uint64_t Time(const std::string& expected, uint64_t at_least_ns);
  uint64_t Number(const std::string& expected, uint64_t least, uint64_t most);
  int Signed(const std::string& expected, int least, int most);
  Extent Dimensions(const std::string& expected, uint64_t most_of_each);
  // Which of the words it is.
  int OneOf(const std::string& expected, const std::vector<std::string_view>& words);
  // Nothing may follow. `allowed` says what could have.
  void End(const std::string& allowed);

  // "expected E, found F" at the next word, or another error at a place. Only the first counts.
  void Expect(const std::string& expected);
  void Refuse(Place place, const std::string& what);

 private:
  void Cut(std::string_view line, uint32_t line_number);
  const Word* Next(const std::string& expected);
  bool Digits(const Word& word, std::string_view text, uint64_t* value, const std::string& expected);

  const std::string& file_name_;
  std::string* const error_;
  std::vector<Word> words_;
  size_t next_ = 0;
  Place end_;
};

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_LINE_READER_H_
