// Rows of words as columns for a terminal.
#pragma once
#include <string>
#include <vector>

namespace hotloop {

// The first column to the left, the others to the right, two spaces between; rows may be shorter.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace hotloop
