// The one error type. Whatever a user can cause (a wrong key, a full disk, no memory on the card) is an Error whose
// text is one line naming the thing, the value and what is accepted; the program prints it and exits with status 2.
// Anything else that escapes is a bug in hotloop and exits with status 1.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

class __attribute__((visibility("default"))) Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by allocations only, so that a caller who knows what was being sized can add how much would fit.
class __attribute__((visibility("default"))) OutOfMemory : public Error {
 public:
  using Error::Error;
};

// The candidate nearest to `word` by edit distance, or "" where none is near enough to be a likely slip.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// " (did you mean 'x'?)" for the nearest candidate, or "".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hotloop
