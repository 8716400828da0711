// What is fuzzed: each target reads bytes by one of the program's readers, which may refuse them by an Error of one
// line and nothing else. libFuzzer calls them (entry.cpp), and corpus_test.cpp replays the inputs of corpus/NAME.
#pragma once
#include <string_view>

namespace hotloop {

void fuzz_safetensors(std::string_view bytes);  // a file
void fuzz_checkpoint(std::string_view bytes);   // metadata: configuration, counters, offsets, version
void fuzz_settings(std::string_view bytes);     // a TOML file
void fuzz_tensordict(std::string_view bytes);   // a folder: two meta.json and the leaves
void fuzz_spool(std::string_view bytes);        // recording.json, records, sizes of the other files
void fuzz_log(std::string_view bytes);          // edits of a valid trajectory log
void fuzz_episodes(std::string_view bytes);     // edits of a valid D4RL, Minari or robomimic dataset
void fuzz_repair(std::string_view bytes);       // damage to a valid dataset of any format
void fuzz_policy(std::string_view bytes);       // edits of a policy of CleanRL or Stable-Baselines3
void fuzz_metrics(std::string_view bytes);      // metrics.csv and performance.csv of two runs

struct FuzzTarget {
  const char* name;
  void (*run)(std::string_view bytes);
};
inline constexpr FuzzTarget kFuzzTargets[] = {
    {"safetensors", fuzz_safetensors}, {"checkpoint", fuzz_checkpoint}, {"settings", fuzz_settings},
    {"tensordict", fuzz_tensordict},   {"spool", fuzz_spool},           {"log", fuzz_log},
    {"episodes", fuzz_episodes},       {"repair", fuzz_repair},         {"policy", fuzz_policy},
    {"metrics", fuzz_metrics}};

}  // namespace hotloop
