// What repair_dataset() makes of damaged datasets: an Error, or a dataset that can be inspected.
#include "data/file.h"
#include "data/inspect/inspect.h"
#include "data/inspect/repair.h"
#include "tests/fuzz/hdf5_edits.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/valid_dataset.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// A dataset of each format, written once.
fs::path valid(DatasetFormat format) {
  static const TempFolder folder;
  const fs::path path = folder.path() / format_name(format);
  if (!fs::exists(path)) write_valid_dataset(format, path);
  return path;
}

// Its text from the input, unless that is empty.
void maybe_replace(const fs::path& file, FuzzInput& input) {
  if (const std::string text = input.text(); !text.empty()) put_file(file, text);
}

void damage_folder(const fs::path& folder, FuzzInput& input) {
  maybe_replace(folder / "meta.json", input);
  maybe_replace(folder / "next/meta.json", input);
  for (const char* leaf : {"observation", "action", "next/observation", "next/reward", "next/done", "next/truncated",
                           "next/terminated", "episode"}) {
    const fs::path file = folder / (std::string(leaf) + ".memmap");
    const auto kept = input.number<std::uint8_t>();  // all but so many bytes
    std::string bytes = read_file(file, UINT64_MAX);
    bytes.resize(bytes.size() - std::min<std::size_t>(kept % 64, bytes.size()));
    const auto at = input.number<std::uint8_t>();
    if (at < bytes.size()) bytes[at] = static_cast<char>(input.number<std::uint8_t>());
    put_file(file, bytes);
  }
}

}  // namespace

void fuzz_repair(std::string_view bytes) {
  const Hdf5Quiet quiet;
  static const TempFolder folder;
  const fs::path damaged = folder / "damaged", repaired = folder / "repaired";
  for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry.path());
  FuzzInput input(bytes);
  const auto format = static_cast<DatasetFormat>(input.number<std::uint8_t>() % kDatasetFormats.size());
  fs::copy(valid(format), damaged, fs::copy_options::recursive);
  if (format == DatasetFormat::tensordict) {
    damage_folder(damaged, input);
  } else {
    const bool minari = format == DatasetFormat::minari;
    if (minari) maybe_replace(damaged / "data/metadata.json", input);
    edit_hdf5(minari ? damaged / "data/main_data.hdf5" : damaged, input);
  }
  bool whole = false;
  expect_calm([&] {
    repair(damaged, repaired);
    whole = true;
  });
  // nothing half-made, and no more than can be read again
  if (whole != fs::exists(repaired)) std::fprintf(stderr, "no dataset, or one in spite of an Error\n"), std::abort();
  if (whole) inspect(repaired).text();
}

}  // namespace hotloop
