// What a folder in TensorDict's memmap layout says beside the leaves that step_data.h reads.
#pragma once
#include <filesystem>
#include <string>

namespace hotloop {

// The task that its meta.json names; "" where it names none, or cannot be read.
std::string task_of_table_folder(const std::filesystem::path& folder);
// Error where the group `next`, which every dataset of steps has, is missing.
void check_next_group(const std::filesystem::path& folder);

}  // namespace hotloop
