// A file as read-only memory. Pages are read when they are touched.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>

namespace hotloop {

class MappedFile {
 public:
  // Error where it cannot be opened or is no regular file.
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hotloop
