# Writes OUTPUT, a C++ file whose function NAME returns the headers of FILES (relative to ROOT, separated by commas) as
# text, and with STANDARD stand-ins for the few standard headers that they name: the run-time compiler has none.
#   cmake -DROOT=... -DFILES=a.h,b.h -DOUTPUT=x.cpp -DNAME=embedded_sources -DSTANDARD=ON -P EmbedSources.cmake
string(REPLACE "," ";" files "${FILES}")
set(text "#include \"sim/core/embedded_sources.h\"\n\nnamespace hotloop {\n\nconst std::vector<EmbeddedSource>& ${NAME}() {\n  static const std::vector<EmbeddedSource> sources = {\n")
if(STANDARD)
string(APPEND text [==[
      {"cstdint", R"HOTLOOP(#pragma once
namespace std {
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
}
)HOTLOOP"},
      {"cmath", "#pragma once\n"},
]==])
endif()
foreach(file ${files})
  file(READ "${ROOT}/${file}" content)
  string(APPEND text "      {\"${file}\", R\"HOTLOOP(" "${content}" ")HOTLOOP\"},\n")
endforeach()
string(APPEND text "  };\n  return sources;\n}\n\n}  // namespace hotloop\n")
file(WRITE "${OUTPUT}.new" "${text}")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different "${OUTPUT}.new" "${OUTPUT}")
file(REMOVE "${OUTPUT}.new")
