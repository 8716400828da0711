#include "app/cli.h"
#include "sim/core/error.h"

namespace hotloop {

void add_test(Cli& cli) {
  CLI::App* command = add_command(cli, "test", "Run every test (in a source tree, by ./hotloop test)");
  command->footer(
      "./hotloop test takes:\n"
      "  --slow                      the slow tests too\n"
      "  --gpu                       the GPU tests too (the default where nvidia-smi finds a card)\n"
      "and hands every other argument to ctest.");
  command->callback([&cli] {
    cli.action = []() -> int { throw Error("test: the tests are part of the source tree; run ./hotloop test there"); };
  });
}

}  // namespace hotloop
