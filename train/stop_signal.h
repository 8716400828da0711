// SIGINT (Ctrl-C), SIGTERM and SIGHUP to commands that write datasets: they stop between two pieces of work, say what
// is kept, and exit with 128 + the signal's number, as a shell would.
#pragma once

namespace hotloop {

// Until listen_for_stop() the first signal prints `line` and ends the process: nothing has been written yet. `line`
// must live as long.
void end_at_stop(const char* line);

// From now on the first signal is kept for check_stop(); a second one ends the process as usual.
void listen_for_stop();

// No Error: nothing went wrong.
struct Stopped {
  int status = 0;  // to exit with
};
// Throws Stopped once a signal has come.
void check_stop();

}  // namespace hotloop
