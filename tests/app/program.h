// Runs the real program and keeps what it printed.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hotloop {

struct ProgramResult {
  int status = -1;  // exit status; 128 + signal where one ended it
  bool timed_out = false;
  std::string out, err;
  long peak_kilobytes = 0;  // of memory, of it or the largest program that it started
};

// The program at work.
class Program {
 public:
  // `arguments` without the program's name, run in `folder` with no standard input.
  explicit Program(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".");
  ~Program();  // ends it where nobody waited
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const;
  // Whether it has come to its end; wait() then gives its status at once.
  bool ended() const;
  // Waits for its end; killed after `timeout_seconds`.
  ProgramResult wait(double timeout_seconds = 60);

 private:
  struct Pipes;
  std::unique_ptr<Pipes> pipes_;
  pid_t child_ = -1;
};

// `arguments` without the program's name, run in `folder` with no standard input. Killed after `timeout_seconds`.
ProgramResult run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".",
                          double timeout_seconds = 20);

}  // namespace hotloop
