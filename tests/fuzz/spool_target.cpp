#include "data/crc32c.h"
#include "data/dataset/spool.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecordBytes = 24;  // before the checksum

// Records with their checksums, which no fuzzer finds.
std::string records(FuzzInput& input) {
  std::string file;
  for (int left = input.number<std::uint8_t>() % 8; left > 0; --left) {
    std::string record(input.take(kRecordBytes));
    record.resize(kRecordBytes);
    const std::uint64_t checksum = crc32c(record);
    file += record + std::string(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  }
  return file;
}

}  // namespace

void fuzz_spool(std::string_view bytes) {
  static const TempFolder parent;
  const fs::path folder = parent / "spool";
  const EnvSpec env = {.name = "Fuzz-v0",
                       .observation = {{0, 0}, {1, 1}},
                       .action = ActionSpace::box({-1}, {1}),
                       .reward_terms = {"near"}};
  FuzzInput input(bytes);
  fs::create_directories(folder);
  put_file(folder / "recording.json", input.text());
  put_file(folder / "episodes.bin", records(input) + input.text());
  for (const char* name : {"observation", "action", "reward", "terminated", "truncated", "reward_terms"})
    put_file(folder / (std::string(name) + ".bin"), std::string(input.number<std::uint16_t>(), 'x'));
  expect_calm([&] { EpisodeSpool::check_version(folder, "0.1.0"); });
  expect_calm([&] { EpisodeSpool::check_recording(folder, R"({"format": "minari", "episodes": 3, "seed": 1})"); });
  expect_calm([&] {
    EpisodeSpool spool = EpisodeSpool::resume(folder, env);
    spool.for_each([](const Episode&) {});
  });
}

}  // namespace hotloop
