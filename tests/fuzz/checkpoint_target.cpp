// The texts of a checkpoint's metadata in a file around them: mutated files would stop at JSON within JSON.
#include <nlohmann/json.hpp>

#include "sim/core/registry.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"
#include "train/checkpoint.h"

namespace hotloop {

void fuzz_checkpoint(std::string_view bytes) {
  FuzzInput input(bytes);
  nlohmann::ordered_json header;
  for (const char* key : {"format_version", "counters", "metric_files", "config"})
    header["__metadata__"][key] = input.text();
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    return;  // not UTF-8, which no file can hold
  }
  const std::uint64_t length = text.size();
  const std::string content = std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
  expect_calm([&] {
    const Safetensors file = Safetensors::parse(content, "fuzz.safetensors", {.require_checksum = false});
    const CheckpointInfo info = checkpoint_info(file);
    check_policy(file, make_policy_spec(info.config, find_environment(info.config.task).spec));
  });
}

}  // namespace hotloop
