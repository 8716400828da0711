// Owners of OpenGL objects. A context must be current wherever one is made, used or destroyed.
#pragma once
#include <epoxy/gl.h>

#include <glm/glm.hpp>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace hotloop {

// A GL name that is deleted with its owner; 0: none.
template <void (*Delete)(GLuint)>
class GlName {
 public:
  explicit GlName(GLuint name = 0) : name_(name) {}
  ~GlName() { reset(); }
  GlName(GlName&& other) noexcept : name_(std::exchange(other.name_, 0)) {}
  GlName& operator=(GlName&& other) noexcept {
    if (this != &other) {
      reset();
      name_ = std::exchange(other.name_, 0);
    }
    return *this;
  }
  GLuint get() const { return name_; }

 private:
  void reset() {
    if (name_ != 0) Delete(name_);
    name_ = 0;
  }
  GLuint name_;
};

namespace detail {
void delete_buffer(GLuint name);
void delete_vertex_array(GLuint name);
void delete_texture(GLuint name);
void delete_framebuffer(GLuint name);
void delete_program(GLuint name);
}  // namespace detail

using VertexArray = GlName<detail::delete_vertex_array>;
using Texture = GlName<detail::delete_texture>;
using Framebuffer = GlName<detail::delete_framebuffer>;
VertexArray make_vertex_array();
Texture make_texture(GLenum target);
Framebuffer make_framebuffer();

// Memory of the GPU, of fixed size.
class GlBuffer {
 public:
  GlBuffer() = default;
  // flags: as glNamedBufferStorage's; data may be null.
  GlBuffer(std::size_t bytes, GLbitfield flags, const void* data = nullptr);
  GLuint get() const { return name_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  GlName<detail::delete_buffer> name_;
  std::size_t bytes_ = 0;
};

// A buffer that what is written every frame fits into: made anew when it is too small.
class StreamBuffer {
 public:
  void write(const void* data, std::size_t bytes);
  template <class T>
  void write(std::span<const T> items) {
    write(items.data(), items.size_bytes());
  }
  GLuint get() const { return buffer_.get(); }

 private:
  GlBuffer buffer_;
};

// A linked program of the files in viz/scene/shaders, which are part of the executable. `#include "x.glsl"` works in
// them. Error, one line with file and line, where the driver does not take it.
class Program {
 public:
  Program() = default;
  // defines: lines before the text of both.
  Program(const std::string& vertex_file, const std::string& fragment_file, const std::string& defines = "");
  explicit Program(const std::string& compute_file);
  void use() const;

  // Uniforms of the same names; those that the driver has optimised away are ignored.
  void set(const char* name, int value) const;
  void set(const char* name, unsigned value) const;
  void set(const char* name, float value) const;
  void set(const char* name, const glm::vec2& value) const;
  void set(const char* name, const glm::vec3& value) const;
  void set(const char* name, const glm::vec4& value) const;
  void set(const char* name, const glm::mat4& value) const;
  void set(const char* name, std::span<const glm::vec4> values) const;

 private:
  GLint location(const char* name) const;
  GlName<detail::delete_program> name_;
};

// Programs of the same files with other definitions, each made when it is first needed: what a picture does not use
// costs nothing, above all where OpenGL runs on the CPU, which computes both sides of a branch.
class ProgramSet {
 public:
  const Program& get(const std::string& vertex_file, const std::string& fragment_file, const std::string& defines = "");

 private:
  std::map<std::string, Program> programs_;
};

// A picture to draw into: colour and depth, with `samples` a pixel (1: none more). Remade when its size changes.
class RenderTarget {
 public:
  explicit RenderTarget(int samples, GLenum color_format = GL_RGBA8) : samples_(samples), format_(color_format) {}
  void resize(int width, int height);
  GLuint framebuffer() const { return framebuffer_.get(); }
  GLuint color() const { return color_.get(); }  // samples 1: can be read as a texture
  int width() const { return width_; }
  int height() const { return height_; }

 private:
  int samples_, width_ = 0, height_ = 0;
  GLenum format_;
  Texture color_, depth_;
  Framebuffer framebuffer_;
};

}  // namespace hotloop
