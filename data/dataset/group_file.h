// HDF5 files of groups and whole datasets, in the oldest format, which every reader of the field knows, written without
// HDF5's library: for a group of five small datasets that takes 0.25 ms of its lists and caches, below a lock of the
// whole process, and of short episodes there are many. The library opens the file when it is finished.
//
// From below to above: what a group links to is there before the group. The format's numbers are of HDF5 File Format
// Specification Version 2.0, "disk format level 0A" (superblock 0) to "2A" (object headers of version 1).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/dataset/value_writer.h"
#include "data/hdf5_handle.h"

namespace hotloop {

// For what is stored as another type.
template <class To, class From>
std::vector<To> converted(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

// An element type as files spell it.
std::string hdf5_type_bytes(const Hdf5Handle& type);

class GroupFile {
 public:
  // Addresses in the file.
  struct Group {
    std::uint64_t object = 0, tree = 0, heap = 0;
  };
  struct Link {
    std::string name;
    std::uint64_t object = 0;
  };
  struct Attribute {
    const char* name;
    std::variant<std::int64_t, double, std::string_view> value;  // text is of variable length, UTF-8
  };

  explicit GroupFile(const std::filesystem::path& path);

  // A contiguous dataset; `data` is of `type`, in the machine's order of bytes. Returns its object.
  std::uint64_t write_set(const std::string& type, const std::vector<std::uint64_t>& dims, const void* data,
                          std::size_t bytes);
  template <class T>
  std::uint64_t write_set(const std::string& type, const std::vector<std::uint64_t>& dims, const std::vector<T>& data) {
    return write_set(type, dims, data.data(), data.size() * sizeof(T));
  }
  Group write_group(std::vector<Link> links, const std::vector<Attribute>& attributes = {});
  // `prefix`0, `prefix`1, ... of millions of objects.
  Group write_group(const std::string& prefix, const std::vector<std::uint64_t>& objects,
                    const std::vector<Attribute>& attributes = {});
  // What follows are the lists of all that was written. As far as they fit they come to the file's beginning, so that
  // one that is cut off later still says what it holds.
  void begin_lists();
  // Hands everything to the system; nothing may follow.
  void finish(const Group& root);

 private:
  struct Node {
    std::uint64_t address, last_name;  // of its names, the last in their order
  };

  // Objects in the order of their names, which are not empty.
  Group write_links(std::size_t count, const std::function<Link(std::size_t)>& link,
                    const std::vector<Attribute>& attributes);
  Node write_leaf(std::size_t first, std::size_t end, const std::function<Link(std::size_t)>& link, std::string& names);
  std::vector<Node> write_tree_level(const std::vector<Node>& below, int level);
  std::string attribute_bytes(const Attribute& attribute);
  std::string text_reference(std::string_view text);
  std::uint64_t place(std::size_t bytes);
  // Where write_small() will write.
  std::uint64_t next_small(std::size_t bytes);
  std::uint64_t write_small(const std::string& bytes);
  void hand_over_small();

  std::filesystem::path path_;
  ValueWriter values_;
  std::string attribute_type_[3];  // of the kinds of values
  std::uint64_t end_;              // of what is placed
  // What is written in small pieces lies together: between the data of episodes it would cost readers a disk access a
  // piece.
  std::string small_;
  std::uint64_t small_at_ = 0;
  std::size_t small_room_ = 0;
};

}  // namespace hotloop
