#include "train/stop_signal.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace hotloop {
namespace {

constexpr int kShellStatus = 128;

std::atomic<int> received{0};
std::atomic<const char*> last_line{nullptr};

void keep(int number) { received = number; }

void end(int number) {
  const char* const line = last_line;
  // best effort: the process ends either way
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, std::strlen(line));
  ::_exit(kShellStatus + number);
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);  // ignored under nohup
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void end_at_stop(const char* line) {
  last_line = line;
  handle(end);
}

void listen_for_stop() {
  received = 0;
  handle(keep);
}

int stop_status() { return received != 0 ? kShellStatus + received : 0; }

void check_stop() {
  if (const int status = stop_status(); status != 0) throw Stopped{status};
}

}  // namespace hotloop
