// Where models, configurations and fonts lie at run time.
#pragma once
#include <filesystem>
#include <optional>

namespace hotloop {

// $HOTLOOP_ASSETS, else ../share/hotloop/assets beside the running program's folder: the installed tree, and the build
// tree, which links there. Nothing where neither exists, as in a program of somebody else that links hotloop. Error if
// HOTLOOP_ASSETS is set to something that is not a folder.
std::optional<std::filesystem::path> assets_dir();

// The folder of the running program.
std::filesystem::path program_dir();

}  // namespace hotloop
