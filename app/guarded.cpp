#include "app/guarded.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kSelf = "/proc/self/exe";
// Of the processor: where the library loops over damaged bytes this ends it, however busy the machine is.
constexpr double kSeconds = 10, kBytesPerSecond = 10e6;
constexpr double kWaiting = 6;  // times as long on the clock: for slow disks, and file systems that do not answer
constexpr rlim_t kMemory = rlim_t{4} << 30;
constexpr std::size_t kMostErrorBytes = 64 << 10;

double bytes_below(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const std::uintmax_t bytes = fs::file_size(path, error);
    return error ? 0 : static_cast<double>(bytes);
  }
  double sum = 0;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->is_regular_file(ignored)) sum += static_cast<double>(entry->file_size(ignored));
  return sum;
}

pid_t spawn(const std::vector<std::string>& arguments, int error_file) {
  std::vector<std::string> words = {"hotloop"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, error_file, STDERR_FILENO);
  // Ctrl-C is for the process that waits, which ends this one
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int failure = ::posix_spawn(&child, kSelf, &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw_file_error(kSelf, failure);
  return child;
}

// What `child` may compute from now on; the system ends it with SIGXCPU.
void limit_computing(pid_t child, double seconds) {
  const auto limit = static_cast<rlim_t>(std::ceil(seconds));
  const rlimit limits = {limit, limit + 1};
  ::prlimit(child, RLIMIT_CPU, &limits, nullptr);
}

// False where the deadline or a stop came first; the child is gone either way.
bool wait_for(pid_t child, double seconds, int& status) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) throw_file_error(kSelf, errno);
    if (Clock::now() > deadline || stop_status() != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return false;
}

void relay(int error_file) {
  std::string text(kMostErrorBytes, '\0');
  const ssize_t n = ::pread(error_file, text.data(), text.size(), 0);
  if (n > 0) std::fwrite(text.data(), 1, static_cast<std::size_t>(n), stderr);
}

}  // namespace

int run_guarded(const std::vector<std::string>& arguments, const std::string& path, long* number) {
  // a file in memory takes any amount without a reader
  const detail::Descriptor error_file(::memfd_create("stderr", MFD_CLOEXEC));
  if (error_file.get() < 0) throw_file_error("memory file", errno);
  const double seconds = kSeconds + bytes_below(path) / kBytesPerSecond;
  int status = 0;
  std::string failure;
  const pid_t child = spawn(arguments, error_file.get());
  if (number != nullptr) *number = child;
  limit_computing(child, seconds);
  const bool in_time = wait_for(child, kWaiting * seconds, status);
  if (!in_time && stop_status() != 0) return stop_status();
  if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
    failure =
        fmt::format("reading it takes more than {:.0f} s: is it damaged?", in_time ? seconds : kWaiting * seconds);
  else if (WIFSIGNALED(status))
    failure = fmt::format("is damaged: HDF5's library crashes on it ({})", ::strsignal(WTERMSIG(status)));
  if (failure.empty()) {
    relay(error_file.get());
    return WEXITSTATUS(status);
  }
  std::fputs(("hotloop: " + shown(path) + ": " + failure + "\n").c_str(), stderr);
  return 2;
}

void enter_guard() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef __SANITIZE_ADDRESS__  // which takes terabytes of addresses
  const rlimit limit = {kMemory, kMemory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace hotloop
