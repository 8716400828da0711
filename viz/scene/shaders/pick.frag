flat in uvec3 ids;
layout(location = 0) out uvec2 hit;

void main() { hit = ids.xy + 1u; }  // 0: nothing
