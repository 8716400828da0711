// Words and commands as messages show them for the user's shell.
#pragma once
#include <string>

namespace hotloop {

// A word as a shell takes it.
std::string shell_quoted(const std::string& word);

// How the user called this program, for the commands that messages offer: "./hotloop". Set once at the start from
// argv[0]; "hotloop" before that.
const std::string& program_name();
void set_program_name(const std::string& called);

}  // namespace hotloop
