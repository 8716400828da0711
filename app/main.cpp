#include "app/run.h"

int main(int argc, char** argv) { return hotloop::run(argc, argv); }
