// The files of two runs that `compare` reads, their statistics and curves.
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"
#include "train/learning_curves.h"

namespace hotloop {

void fuzz_metrics(std::string_view bytes) {
  static const TempFolder folder;
  FuzzInput input(bytes);
  const auto choice = input.number<std::uint8_t>();
  ScoreRule rule;
  rule.kind = static_cast<ScoreKind>(choice % 3);
  rule.seconds = (choice & 4) != 0;
  if (choice & 8) rule.until = input.number<double>();
  std::vector<std::string> runs;
  for (const char* name : {"a", "b"}) {
    const std::filesystem::path run = folder / name;
    std::filesystem::create_directories(run);
    put_file(run / "config.toml", "task = \"CartPole-v1\"\n");
    put_file(run / "metrics.csv", "global_step,eval/episodic_return\n" + input.text());
    put_file(run / "performance.csv", input.text());
    runs.push_back(run.string());
  }
  // of the file's own first line, too
  if (choice & 16) put_file(folder / "a/metrics.csv", input.text());
  expect_calm([&] {
    const Comparison comparison = read_comparison(runs, rule);
    BootstrapConfig config;
    config.resamples = 8;
    draw_learning_curves(comparison, rule, config);
    aggregate(comparison.groups.at(0).scores());
  });
}

}  // namespace hotloop
