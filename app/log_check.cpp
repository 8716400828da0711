#include "app/log_check.h"

#include <memory>
#include <new>
#include <vector>

#include "app/guarded.h"
#include "data/log/log_reader.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

constexpr const char* kInside = "read-log-inside";

// Something of every chunk, an iteration at a time: the library stumbles over where chunks lie and how they are
// compressed, not over values.
void read_chunks(const LogReader& log) {
  const std::int64_t steps = log.info().num_steps, worlds = log.num_worlds();
  std::vector<std::byte> leaf, state(log.state_bytes());
  std::vector<float> last(static_cast<std::size_t>(worlds * log.obs_dim()));
  for (std::size_t i = 0; i < log.iterations().size(); ++i) {
    const auto iteration = static_cast<std::int64_t>(i);
    for (const LogKey& key : log.keys()) {
      leaf.resize(key.bytes() * static_cast<std::size_t>(steps));
      for (std::int64_t world = 0; world < worlds; world += log.chunk_worlds(key.name))
        log.read(key.name, iteration * steps, steps, world, 1, leaf.data());
    }
    log.read_last_observation(iteration, 0, worlds, last.data());
    log.read_finals(iteration);
    if (!state.empty()) log.read_state(iteration, state.data());
  }
}

int inside(const std::string& path) {
  enter_guard();
  try {
    read_chunks(LogReader(path));
  } catch (const std::bad_alloc&) {
    throw Error(shown(path) + ": asks for more memory than a log needs");
  }
  return 0;
}

}  // namespace

bool log_is_readable(const std::string& path) { return run_guarded({kInside, "--", path}, path) == 0; }

void add_log_check(Cli& cli) {
  CLI::App* command = add_command(cli, kInside, "Read a trajectory log once");
  auto path = std::make_shared<std::string>();
  command->add_option("LOG.h5", *path, "trajectory log");
  command->callback([&cli, path] { cli.action = [path] { return inside(*path); }; });
  command->group("");  // shown nowhere
}

}  // namespace hotloop
