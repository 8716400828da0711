// The start tags of an XML text, read before MuJoCo does: for what must be known beforehand (which files a model reads,
// how often parts are replicated) and to say where an error is. Internal to the loader.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotloop {

struct XmlTag {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // entities decoded
  int line = 0;                                                 // from 1
  int parent = -1;                                              // index of the enclosing tag

  // nullptr: not there.
  const std::string* attribute(std::string_view key) const;
};

// Never fails: what is malformed ends the list, and MuJoCo's parser says what is wrong there.
std::vector<XmlTag> scan_xml(std::string_view text);

}  // namespace hotloop
