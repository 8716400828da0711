// A client of the X server beside the viewer's own. Error where there is no Xlib or no server.
#pragma once
#include <functional>
#include <string>

namespace hotloop {

// What the monitors of windows opened from now on have: 96 is scale 1.
void set_dpi(int dpi);

// ---- the window of another process
// That with this title, once it can be seen; 0: none appeared in time, or before `given_up` said so.
unsigned long find_window(const std::string& title, double seconds, const std::function<bool()>& given_up);
// symbol: X's number of a key; of a letter that of its small form in ASCII.
void press_key(unsigned long window, unsigned long symbol, bool ctrl = false);
// As the button in the window's frame does.
void close_window(unsigned long window);

}  // namespace hotloop
