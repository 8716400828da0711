// The program as a function, so that a program with environments of its own can offer the same commands.
#pragma once

namespace hotloop {

// Runs one command line and returns the exit status: 0; 2 after bad input, with one line on stderr that begins
// "hotloop: "; 1 after an error in hotloop itself.
int run(int argc, char** argv);

}  // namespace hotloop
