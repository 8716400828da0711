// The hidden folder beside a dataset's target in which the dataset is made. One process at a time holds it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/file.h"

namespace hotloop {

// ".<name>.<what>" beside the target.
std::filesystem::path work_folder(const std::filesystem::path& target, const std::string& what);
// The way back.
std::filesystem::path target_of(const std::filesystem::path& work_folder);

// Held until the descriptor closes, however the process ends. Error naming the target if another process holds it.
detail::Descriptor lock_work_folder(const std::filesystem::path& folder);
// Error as lock_work_folder's, without taking it; fine where the folder is not there.
void check_not_locked(const std::filesystem::path& folder);

// The folders above `path` that are not there, the innermost first; and their removal, once made, where they are empty.
std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path);
void remove_empty(const std::vector<std::filesystem::path>& folders);

// What a user does about one that cannot be used: the only message that names it.
std::string remove_hint(const std::filesystem::path& work_folder);

// A message without the names of the folder and of what is in it: the user knows the target.
std::string told_of_target(const std::string& message, const std::filesystem::path& folder);

}  // namespace hotloop
