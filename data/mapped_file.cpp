#include "data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "data/file.h"
#include "sim/core/error.h"

namespace hotloop {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const detail::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw_file_error(path, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) throw_file_error(path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(path.string() + ": is no regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const at = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) throw_file_error(path, errno);
  data_ = static_cast<std::byte*>(at);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace hotloop
