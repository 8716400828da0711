flat in uvec2 ids;
layout(location = 0) out uvec2 hit;

void main() { hit = ids + 1u; }  // 0: nothing
