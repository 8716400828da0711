#include "tests/viz/ui_opened.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/viz/ui_driver.h"
#include "tests/viz/ui_x11.h"

namespace hotloop {

// An exception ends the test: nothing that it does to a window that is not there would tell more.
OpenedProgram::OpenedProgram(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                             const std::string& title)
    : program_((shared_display(), arguments), folder),
      window_(find_window(title, kWindowSeconds, [this] { return program_.ended(); })) {
  if (window_ != 0) return;
  const bool ended = program_.ended();
  const ProgramResult result = program_.wait(0.1);
  throw std::runtime_error("no window '" + title + "': the program " +
                           (ended ? "ended with status " + std::to_string(result.status) : "opened none in time") +
                           "; it printed:\n" + result.out + result.err);
}

ProgramResult OpenedProgram::end() {
  ProgramResult result = program_.wait(kWindowSeconds);
  EXPECT_FALSE(result.timed_out) << "the program went on without its window; it printed:\n" << result.err;
  return result;
}

}  // namespace hotloop
