# cmake --install: a tree that runs from anywhere.
