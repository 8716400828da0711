// Xlib ends the process when the X server goes away. These make it a fact that can be asked for, so that the viewer
// ends with a line of its own and a training that is watched goes on.
#pragma once

namespace hotloop {

// Once GLFW has opened its display.
void watch_display();
// From then on no call of GLFW, X or the window's OpenGL is allowed.
bool display_lost();

}  // namespace hotloop
