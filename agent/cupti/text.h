// Bounded text without malloc, for the few sentences that the agent sends to people.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallscope::agent {

// Writes into memory of the caller, always NUL-terminated, cut at its end.
class Text {
 public:
  Text(char* memory, size_t bytes) noexcept : next_(memory), left_(bytes) {
    if (left_ != 0) *next_ = '\0';
  }
  Text& AddChar(char c) noexcept {
    if (left_ > 1) {
      *next_++ = c;
      *next_ = '\0';
      --left_;
    }
    return *this;
  }
  Text& Add(const char* text) noexcept {
    for (; text != nullptr && *text != '\0'; ++text) AddChar(*text);
    return *this;
  }
  Text& AddBytes(const char* text, size_t bytes) noexcept {
    for (size_t i = 0; i < bytes; ++i) AddChar(text[i]);
    return *this;
  }
  Text& AddNumber(uint64_t number) noexcept {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) AddChar(digits[--count]);
    return *this;
  }

 private:
  char* next_;
  size_t left_;
};

}  // namespace stallscope::agent
