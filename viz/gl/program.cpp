// Programs from the embedded shaders, with errors that name file and line.
#include <regex>
#include <sstream>
#include <vector>

#include "sim/core/error.h"
#include "viz/gl/objects.h"
#include "viz/gl/shaders.h"

namespace hotloop {
namespace detail {

void delete_program(GLuint name) { glDeleteProgram(name); }

}  // namespace detail
namespace {

std::string source_of(const std::string& file) {
  const std::string path = "viz/scene/shaders/" + file;
  for (const EmbeddedSource& source : shader_sources())
    if (path == source.name) return source.text;
  throw Error("shader " + file + ": is not part of this program");
}

// Appends `file` with its includes in place. `files` numbers them for #line: drivers name a line by number of file.
void expand(const std::string& file, std::vector<std::string>& files, std::string& out) {
  const std::size_t number = files.size();
  files.push_back(file);
  std::istringstream lines(source_of(file));
  std::string line;
  for (int n = 1; std::getline(lines, line); ++n) {
    static const std::regex include("#include \"([^\"]+)\"");
    std::smatch match;
    if (std::regex_match(line, match, include)) {
      expand(match[1], files, out);
      out += "#line " + std::to_string(n + 1) + " " + std::to_string(number) + "\n";
    } else {
      if (n == 1) out += "#line 1 " + std::to_string(number) + "\n";
      out += line + "\n";
    }
  }
}

// The first line of a driver's log, with the number of the file ("0:12(5): error" or "0(12) : error") made its name.
std::string first_error(const std::string& log, const std::vector<std::string>& files) {
  std::string line = log.substr(0, log.find('\n'));
  std::smatch match;
  static const std::regex place("^(?:ERROR: )?(\\d+)[:(](\\d+)\\)?(.*)$");
  if (std::regex_match(line, match, place) && std::stoul(match[1]) < files.size())
    return files[std::stoul(match[1])] + ":" + match[2].str() + match[3].str();
  return (files.empty() ? "" : files[0] + ": ") + line;
}

template <class Get, class GetLog>
std::string info_log(GLuint name, Get get, GetLog get_log) {
  GLint length = 0;
  get(name, GL_INFO_LOG_LENGTH, &length);
  std::string log(static_cast<std::size_t>(length > 0 ? length : 1), '\0');
  get_log(name, static_cast<GLsizei>(log.size()), nullptr, log.data());
  return log;
}

void attach(GLuint program, GLenum stage, const std::string& file, const std::string& defines) {
  std::vector<std::string> files;
  std::string text = "#version 450 core\n" + defines;
  expand(file, files, text);
  const GLuint shader = glCreateShader(stage);
  const char* start = text.c_str();
  glShaderSource(shader, 1, &start, nullptr);
  glCompileShader(shader);
  GLint ok = GL_FALSE;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &ok);
  const std::string log = ok == GL_TRUE ? "" : info_log(shader, glGetShaderiv, glGetShaderInfoLog);
  glAttachShader(program, shader);
  glDeleteShader(shader);  // lives as long as the program
  if (ok != GL_TRUE) throw Error("OpenGL: shader " + first_error(log, files));
}

void link(GLuint program, const std::string& name) {
  glLinkProgram(program);
  GLint ok = GL_FALSE;
  glGetProgramiv(program, GL_LINK_STATUS, &ok);
  if (ok != GL_TRUE)
    throw Error("OpenGL: shader " + first_error(info_log(program, glGetProgramiv, glGetProgramInfoLog), {name}));
}

}  // namespace

Program::Program(const std::string& vertex_file, const std::string& fragment_file, const std::string& defines)
    : name_(glCreateProgram()) {
  attach(name_.get(), GL_VERTEX_SHADER, vertex_file, defines);
  attach(name_.get(), GL_FRAGMENT_SHADER, fragment_file, defines);
  link(name_.get(), vertex_file);
}

Program::Program(const std::string& compute_file) : name_(glCreateProgram()) {
  attach(name_.get(), GL_COMPUTE_SHADER, compute_file, "");
  link(name_.get(), compute_file);
}

const Program& ProgramSet::get(const std::string& vertex_file, const std::string& fragment_file,
                               const std::string& defines) {
  const std::string key = vertex_file + "\n" + fragment_file + "\n" + defines;
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  return programs_.emplace(key, Program(vertex_file, fragment_file, defines)).first->second;
}

}  // namespace hotloop
