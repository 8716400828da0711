#include <cstdlib>

#include "sim/core/registry.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"
#include "train/config.h"

namespace hotloop {

void fuzz_settings(std::string_view bytes) {
  expect_calm([&] {
    const TrainConfig config = resolve_settings(parse_settings(std::string(bytes), "fuzz.toml"));
    // what is accepted must come back the same from the run's config.toml
    const std::string text = to_toml(config);
    if (to_toml(resolve_settings(parse_settings(text, "config.toml"))) != text) std::abort();
    const EnvEntry& env = find_environment(config.task);
    validate(config, env.spec.action);
    spec_with_options(env, config.env);
  });
}

}  // namespace hotloop
