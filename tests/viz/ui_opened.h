// The program with its window, as a user starts it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/program.h"

namespace hotloop {

constexpr double kWindowSeconds = 60;  // until a window opens or a program ends, also on a busy machine

// What it has to say is read at its end only. Its window is there or the test has failed, with what the program
// printed.
class OpenedProgram {
 public:
  OpenedProgram(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                const std::string& title);
  unsigned long window() const { return window_; }
  void signal(int number) const { program_.signal(number); }
  // Fails the test where it does not end.
  ProgramResult end();

 private:
  Program program_;
  unsigned long window_;
};

}  // namespace hotloop
