#include "sim/mujoco/xml_scan.h"

#include <cstdlib>

namespace hotloop {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool ends_name(char c) { return is_space(c) || c == '>' || c == '/' || c == '=' || c == '<'; }

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string entity(text.substr(i + 1, end - i - 1));
    if (entity == "lt" || entity == "gt" || entity == "amp" || entity == "quot" || entity == "apos") {
      out += entity == "lt" ? '<' : entity == "gt" ? '>' : entity == "amp" ? '&' : entity == "quot" ? '"' : '\'';
    } else if (entity.size() > 1 && entity[0] == '#') {
      const bool hex = entity[1] == 'x';
      const long code = std::strtol(entity.c_str() + (hex ? 2 : 1), nullptr, hex ? 16 : 10);
      out += code > 0 && code < 128 ? static_cast<char>(code) : '?';
    } else {
      out += text.substr(i, end - i + 1);
    }
    i = end;
  }
  return out;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<XmlTag> run() {
    while (skip_until("<") && step()) {
    }
    return std::move(tags_);
  }

 private:
  bool at(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void advance(std::size_t count) {
    for (; count > 0 && at_ < text_.size(); --count) line_ += text_[at_++] == '\n' ? 1 : 0;
  }

  // Moves to the next `what`; false at the end of the text.
  bool skip_until(std::string_view what) {
    const std::size_t next = text_.find(what, at_);
    if (next == std::string_view::npos) return false;
    advance(next - at_);
    return true;
  }

  bool skip_past(std::string_view what) {
    if (!skip_until(what)) return false;
    advance(what.size());
    return true;
  }

  // One piece of markup, from its '<' on.
  bool step() {
    if (at("<!--")) return skip_past("-->");
    if (at("<![CDATA[")) return skip_past("]]>");
    if (at("<?")) return skip_past("?>");
    if (at("<!")) return skip_past(">");
    if (at("</")) {
      if (open_ >= 0) open_ = tags_[open_].parent;
      return skip_past(">");
    }
    advance(1);
    XmlTag tag;
    tag.line = line_;
    tag.parent = open_;
    tag.name = name();
    while (attribute(tag)) {
    }
    const bool closed = at("/>"), complete = closed || at(">");
    if (!tag.name.empty()) tags_.push_back(std::move(tag));
    if (!complete) return false;
    if (!closed) open_ = static_cast<int>(tags_.size()) - 1;
    advance(closed ? 2 : 1);
    return true;
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !ends_name(text_[at_])) advance(1);
    return std::string(text_.substr(begin, at_ - begin));
  }

  void spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) advance(1);
  }

  bool attribute(XmlTag& tag) {
    spaces();
    std::string key = name();
    if (key.empty()) return false;
    spaces();
    if (!at("=")) return false;
    advance(1);
    spaces();
    if (!at("\"") && !at("'")) return false;
    const std::string quote(1, text_[at_]);
    advance(1);
    const std::size_t begin = at_;
    if (!skip_until(quote)) return false;
    tag.attributes.emplace_back(std::move(key), decoded(text_.substr(begin, at_ - begin)));
    advance(1);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, open_ = -1;
  std::vector<XmlTag> tags_;
};

}  // namespace

const std::string* XmlTag::attribute(std::string_view key) const {
  for (const auto& [name, value] : attributes)
    if (name == key) return &value;
  return nullptr;
}

std::vector<XmlTag> scan_xml(std::string_view text) { return Scanner(text).run(); }

}  // namespace hotloop
