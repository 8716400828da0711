// SIGINT (Ctrl-C), SIGTERM and SIGHUP to commands that take long: they stop between two pieces of work, say what is
// kept and exit with 128 + the signal's number, as a shell would.
#pragma once

namespace hotloop {

// Until listen_for_stop() the first signal prints `line` and ends the process: nothing has been written yet. `line`
// must live as long.
void end_at_stop(const char* line);

// From now on the first signal is kept; a second one ends the process as usual. Holds to the end of the process: one
// that comes after the work is done must not turn its success into a failure.
void listen_for_stop();
// The status to exit with for the signal that was kept; 0: none was.
int stop_status();

// No Error: nothing went wrong.
struct Stopped {
  int status = 0;  // to exit with
};
// Throws Stopped once a signal has come.
void check_stop();

}  // namespace hotloop
