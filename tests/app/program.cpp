#include "tests/app/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    read_end = ends[0], write_end = ends[1];
  }
  ~Pipe() { close_write(), ::close(read_end); }
  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
};

pid_t spawn(const std::vector<std::string>& arguments, const std::filesystem::path& folder, const Pipe& out,
            const Pipe& err) {
  std::vector<std::string> words = {HOTLOOP_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, 2);
  pid_t child = -1;
  const int failure = ::posix_spawn(&child, HOTLOOP_PROGRAM, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::system_error(failure, std::generic_category(), HOTLOOP_PROGRAM);
  return child;
}

// Reads both pipes to their ends; false if the deadline came first.
bool drain(const Pipe& out, const Pipe& err, ProgramResult& result, Clock::time_point deadline) {
  pollfd watched[2] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
  std::string* const texts[2] = {&result.out, &result.err};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    ::poll(watched, 2, static_cast<int>(left));
    for (int k = 0; k < 2; ++k) {
      if (watched[k].fd < 0 || watched[k].revents == 0) continue;
      char block[4096];
      const ssize_t n = ::read(watched[k].fd, block, sizeof block);
      if (n > 0) texts[k]->append(block, static_cast<std::size_t>(n));
      if (n == 0) watched[k].fd = -1;
    }
  }
  return true;
}

int wait_for(pid_t child, rusage* usage = nullptr) {
  int status = 0;
  while (::wait4(child, &status, 0, usage) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

struct Program::Pipes {
  Pipe out, err;
};

Program::Program(const std::vector<std::string>& arguments, const std::filesystem::path& folder)
    : pipes_(std::make_unique<Pipes>()) {
  child_ = spawn(arguments, folder, pipes_->out, pipes_->err);
  pipes_->out.close_write();
  pipes_->err.close_write();
}

Program::~Program() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  wait_for(child_);
}

bool Program::ended() const {
  siginfo_t info = {};
  return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child_;
}

void Program::signal(int number) const { ::kill(child_, number); }

ProgramResult Program::wait(double timeout_seconds) {
  ProgramResult result;
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds));
  result.timed_out = !drain(pipes_->out, pipes_->err, result, Clock::now() + limit);
  if (result.timed_out) ::kill(child_, SIGKILL);
  rusage usage{};
  const int status = wait_for(child_, &usage);
  child_ = -1;
  result.peak_kilobytes = usage.ru_maxrss;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

ProgramResult run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                          double timeout_seconds) {
  return Program(arguments, folder).wait(timeout_seconds);
}

}  // namespace hotloop
