#include "viz/gl/objects.h"

#include <algorithm>
#include <glm/gtc/type_ptr.hpp>

#include "sim/core/error.h"

namespace hotloop {
namespace detail {

void delete_buffer(GLuint name) { glDeleteBuffers(1, &name); }
void delete_vertex_array(GLuint name) { glDeleteVertexArrays(1, &name); }
void delete_texture(GLuint name) { glDeleteTextures(1, &name); }
void delete_framebuffer(GLuint name) { glDeleteFramebuffers(1, &name); }

}  // namespace detail

VertexArray make_vertex_array() {
  GLuint name = 0;
  glCreateVertexArrays(1, &name);
  return VertexArray(name);
}

Texture make_texture(GLenum target) {
  GLuint name = 0;
  glCreateTextures(target, 1, &name);
  return Texture(name);
}

Framebuffer make_framebuffer() {
  GLuint name = 0;
  glCreateFramebuffers(1, &name);
  return Framebuffer(name);
}

GlBuffer::GlBuffer(std::size_t bytes, GLbitfield flags, const void* data) : bytes_(std::max<std::size_t>(bytes, 16)) {
  GLuint name = 0;
  glCreateBuffers(1, &name);
  name_ = GlName<detail::delete_buffer>(name);
  while (glGetError() != GL_NO_ERROR) {  // what is found below is this call's
  }
  glNamedBufferStorage(name, static_cast<GLsizeiptr>(bytes_), bytes == bytes_ ? data : nullptr,
                       flags | (bytes < bytes_ ? GL_DYNAMIC_STORAGE_BIT : 0));
  if (glGetError() == GL_OUT_OF_MEMORY)
    throw OutOfMemory("OpenGL: out of memory: " + std::to_string(bytes / 1000000) + " MB asked for");
  if (bytes < bytes_ && bytes > 0 && data != nullptr)
    glNamedBufferSubData(name, 0, static_cast<GLsizeiptr>(bytes), data);
}

void StreamBuffer::write(const void* data, std::size_t bytes) {
  if (buffer_.bytes() < bytes || buffer_.get() == 0) buffer_ = GlBuffer(bytes * 3 / 2, GL_DYNAMIC_STORAGE_BIT);
  if (bytes > 0) glNamedBufferSubData(buffer_.get(), 0, static_cast<GLsizeiptr>(bytes), data);
}

GLint Program::location(const char* name) const { return glGetUniformLocation(name_.get(), name); }
void Program::use() const { glUseProgram(name_.get()); }
void Program::set(const char* name, int value) const { glProgramUniform1i(name_.get(), location(name), value); }
void Program::set(const char* name, unsigned value) const { glProgramUniform1ui(name_.get(), location(name), value); }
void Program::set(const char* name, float value) const { glProgramUniform1f(name_.get(), location(name), value); }
void Program::set(const char* name, const glm::vec2& value) const {
  glProgramUniform2fv(name_.get(), location(name), 1, glm::value_ptr(value));
}
void Program::set(const char* name, const glm::vec3& value) const {
  glProgramUniform3fv(name_.get(), location(name), 1, glm::value_ptr(value));
}
void Program::set(const char* name, const glm::vec4& value) const {
  glProgramUniform4fv(name_.get(), location(name), 1, glm::value_ptr(value));
}
void Program::set(const char* name, const glm::mat4& value) const {
  glProgramUniformMatrix4fv(name_.get(), location(name), 1, GL_FALSE, glm::value_ptr(value));
}
void Program::set(const char* name, std::span<const glm::vec4> values) const {
  glProgramUniform4fv(name_.get(), location(name), static_cast<GLsizei>(values.size()), glm::value_ptr(values[0]));
}

void RenderTarget::resize(int width, int height) {
  if (width == width_ && height == height_) return;
  width_ = width;
  height_ = height;
  framebuffer_ = make_framebuffer();
  const auto image = [&](GLenum format) {
    Texture texture = make_texture(samples_ > 1 ? GL_TEXTURE_2D_MULTISAMPLE : GL_TEXTURE_2D);
    if (samples_ > 1) {
      glTextureStorage2DMultisample(texture.get(), samples_, format, width, height, GL_TRUE);
    } else {
      glTextureStorage2D(texture.get(), 1, format, width, height);
      glTextureParameteri(texture.get(), GL_TEXTURE_MIN_FILTER, format == format_ ? GL_LINEAR : GL_NEAREST);
      glTextureParameteri(texture.get(), GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
      glTextureParameteri(texture.get(), GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    }
    return texture;
  };
  color_ = image(format_);
  depth_ = image(GL_DEPTH_COMPONENT32F);
  glNamedFramebufferTexture(framebuffer_.get(), GL_COLOR_ATTACHMENT0, color_.get(), 0);
  glNamedFramebufferTexture(framebuffer_.get(), GL_DEPTH_ATTACHMENT, depth_.get(), 0);
  const GLenum status = glCheckNamedFramebufferStatus(framebuffer_.get(), GL_FRAMEBUFFER);
  if (status != GL_FRAMEBUFFER_COMPLETE)
    throw Error("OpenGL: cannot draw into a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                " pixels with " + std::to_string(samples_) + " samples (status " + std::to_string(status) + ")");
}

}  // namespace hotloop
