#include "train/commands.h"

#include "sim/core/error.h"

namespace hotloop {

int bench_command(const BenchOptions&) { throw Error("bench: not built yet"); }

const std::vector<std::string>& bench_names() {
  static const std::vector<std::string> names = {"env", "train"};
  return names;
}

}  // namespace hotloop
