#include "sim/core/registry.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/core/register.h"
#include "sim/core/shell.h"
#include "sim/core/value.h"
#include "sim/envs/env_list.h"
#include "sim/tasks/task_list.h"

namespace hotloop {
namespace {

void check(const EnvSpec& spec) {
  const auto fail = [&](const std::string& what) { throw Error("environment '" + spec.name + "': " + what); };
  if (spec.name.empty()) throw Error("environment: the name is empty");
  if (spec.observation.low.empty() || spec.observation.low.size() != spec.observation.high.size())
    fail("observation bounds are empty or of different sizes");
  if (spec.action.dim() < 1 || (spec.action.is_box() && spec.action.low.size() != spec.action.high.size()))
    fail("the action space is empty or its bounds differ in size");
  for (const std::int64_t n : spec.action.nvec)
    if (n < 1) fail("an action component has " + std::to_string(n) + " choices");
  if (spec.max_episode_steps < 1) fail("max_episode_steps must be positive");
}

void add(std::vector<EnvEntry>& list, EnvEntry entry) {
  check(entry.spec);
  for (const EnvEntry& e : list)
    if (e.spec.name == entry.spec.name) throw Error("environment '" + entry.spec.name + "' is registered twice");
  list.push_back(std::move(entry));
}

template <class... E>
std::vector<EnvEntry> entries(EnvTypes<E...>) {
  std::vector<EnvEntry> list;
  (add(list, make_entry<E>()), ...);
  for (std::size_t i = 0; i < list.size(); ++i) list[i].built_in = static_cast<int>(i);
#define HOTLOOP_ADD_TASK(Task) add(list, task_entry<Task>());
  HOTLOOP_TASKS(HOTLOOP_ADD_TASK)
#undef HOTLOOP_ADD_TASK
  return list;
}

std::vector<EnvEntry>& registry() {
  static std::vector<EnvEntry> list = entries(BuiltInEnvs{});
  return list;
}

}  // namespace

const std::vector<EnvEntry>& environments() { return registry(); }

const EnvEntry& find_environment(const std::string& name) {
  std::vector<std::string> names;
  for (const EnvEntry& e : registry()) {
    if (e.spec.name == name) return e;
    names.push_back(e.spec.name);
  }
  throw Error("unknown task '" + one_line(name) + "'" + suggestion(name, names) + "; see " + program_name() + " list");
}

EnvOptions resolve_options(const EnvEntry& entry, const EnvOptions& given) {
  if (entry.resolve != nullptr) return entry.resolve(given);
  if (!given.empty())
    throw Error((given[0].label.empty() ? option_spelling(given[0].key) : given[0].label) + " " + shown(given[0].text) +
                ": " + entry.spec.name + " has no options");
  return {};
}

EnvSpec spec_with_options(const EnvEntry& entry, const EnvOptions& given) {
  if (entry.spec_with != nullptr) return entry.spec_with(given);
  resolve_options(entry, given);
  return entry.spec;
}

void register_environment(EnvEntry entry) { add(registry(), std::move(entry)); }

}  // namespace hotloop
