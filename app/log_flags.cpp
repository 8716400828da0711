#include "app/log_flags.h"

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

struct Flag {
  const char *name, *type, *help;
  std::optional<std::string> LogFlags::*text;
};
constexpr Flag kFlags[] = {
    {"--log-trajectories", "FILE.h5", "log what the worlds do to an HDF5 file", &LogFlags::path},
    {"--log-keys", "A,B",
     "leaves to log; all; state: of the worlds, for replay and view (default: what datasets and replays need)",
     &LogFlags::keys},
    {"--log-envs", "N|A-B|A,B,C", "worlds to log: the first N, a range, a list (default all)", &LogFlags::envs},
    {"--log-every", "N", "log every Nth iteration (default 1)", &LogFlags::every},
    {"--log-policy", "P",
     "where the disk is slower than the training: block waits for it, sample leaves iterations out (default block)",
     &LogFlags::policy},
    {"--log-gzip", "LEVEL", "compress, 1 to 9 (default 0: not)", &LogFlags::gzip},
    {"--log-flush-seconds", "S", "what a kill may cost (default 2)", &LogFlags::flush_seconds},
    {"--log-segment-gib", "G", "begin another file at this size (default 16)", &LogFlags::segment_gib}};

template <class T>
void parse(const char* name, const std::optional<std::string>& text, const KeyRule& rule, T& value) {
  if (text) parse_value(name, *text, rule, value);
}

}  // namespace

void add_log_flags(CLI::App& command, LogFlags& flags) {
  for (const Flag& flag : kFlags) command.add_option(flag.name, flags.*flag.text, flag.help)->type_name(flag.type);
}

std::string given_log_flag(const LogFlags& flags) {
  for (const Flag& flag : kFlags)
    if (flags.*flag.text) return std::string(flag.name) + " " + shown(*(flags.*flag.text));
  return "";
}

LogOptions parse_log_flags(const LogFlags& flags) {
  LogOptions options;
  if (!flags.path) {
    if (const std::string given = given_log_flag(flags); !given.empty())
      throw Error(given + ": says how to log; add --log-trajectories FILE.h5");
    return options;
  }
  std::string policy = "block";
  parse("--log-policy", flags.policy, {.choices = {"block", "sample"}}, policy);
  parse("--log-every", flags.every, {.low = 1, .high = 1e9}, options.every);
  parse("--log-gzip", flags.gzip, {.low = 0, .high = 9}, options.gzip);
  parse("--log-flush-seconds", flags.flush_seconds, {.low = 0, .high = 3600}, options.flush_seconds);
  parse("--log-segment-gib", flags.segment_gib, {.low = 0.001, .high = 1e6}, options.segment_gib);
  options.block = policy == "block";
  options.path = *flags.path;
  if (options.path.empty()) throw Error("--log-trajectories '': must name a file");
  options.keys = flags.keys.value_or("");
  options.envs = flags.envs.value_or("");
  for (const auto& [name, text] : {std::pair("--log-keys", flags.keys), std::pair("--log-envs", flags.envs)})
    if (text && text->empty()) throw Error(std::string(name) + " '': must not be empty");
  return options;
}

}  // namespace hotloop
