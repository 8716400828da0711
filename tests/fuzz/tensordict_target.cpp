#include "data/dataset/step_data.h"
#include "data/inspect/inspect.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLeaves[] = {"observation", "action",    "episode",        "next/observation",
                                   "next/reward", "next/done", "next/truncated", "next/terminated"};

}  // namespace

void fuzz_tensordict(std::string_view bytes) {
  static const TempFolder folder;
  FuzzInput input(bytes);
  fs::create_directories(folder / "next");
  put_file(folder / "meta.json", input.text());
  put_file(folder / "next/meta.json", input.text());
  for (const char* leaf : kLeaves)
    put_file(folder.path() / (std::string(leaf) + ".memmap"), input.take(input.number<std::uint8_t>()));
  expect_calm([&] {
    const Report report = inspect(folder.path());
    report.text();
    report.json();
  });
  for (const ActionSpace& action : {ActionSpace::discrete(3), ActionSpace::box({-1}, {1})}) {
    const EnvSpec env = {.name = "Fuzz-v0", .observation = {{0, 0}, {1, 1}}, .action = action};
    expect_calm([&] { StepData(folder.path(), env); });
  }
}

}  // namespace hotloop
