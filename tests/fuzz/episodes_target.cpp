#include "data/inspect/inspect.h"
#include "tests/fuzz/hdf5_edits.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/valid_dataset.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr DatasetFormat kFormats[] = {DatasetFormat::d4rl, DatasetFormat::minari, DatasetFormat::robomimic};

}  // namespace

void fuzz_episodes(std::string_view bytes) {
  const Hdf5Quiet quiet;
  static const TempFolder folder;
  static const std::string valid[] = {valid_hdf5(kFormats[0]), valid_hdf5(kFormats[1]), valid_hdf5(kFormats[2])};
  FuzzInput input(bytes);
  const fs::path path = folder / "set.hdf5";
  put_file(path, valid[input.number<std::uint8_t>() % std::size(valid)]);
  put_file(folder / "metadata.json", input.text());
  edit_hdf5(path, input);
  expect_calm([&] {
    const Report report = inspect(path);
    report.text();
    report.json();
  });
}

}  // namespace hotloop
