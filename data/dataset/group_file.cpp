#include "data/dataset/group_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "data/file.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kNowhere = UINT64_MAX, kZeros = 0;
constexpr std::size_t kSuperblockBytes = 96;
// "K" of the nodes, of which half may be used: HDF5's defaults
constexpr std::size_t kLeafLinks = 2 * 4, kNodeChildren = 2 * 16;
constexpr std::size_t kLinkBytes = 40, kLeafBytes = 8 + kLeafLinks * kLinkBytes;
constexpr std::size_t kNodeBytes = 24 + kNodeChildren * 8 + (kNodeChildren + 1) * 8;
constexpr std::size_t kFirstSmall = 16 << 10, kMostSmall = 1 << 20;
constexpr std::size_t kListsEnd = 256 << 10;  // room for some 3000 episodes; a hole in smaller files
// kinds of header messages
constexpr std::uint16_t kSpace = 1, kType = 3, kFill = 5, kLayout = 8, kAttribute = 12, kSymbolTable = 17;

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& to, std::size_t multiple = 8) { to.resize((to.size() + multiple - 1) / multiple * multiple); }

// The messages of an object header of version 1.
class Header {
 public:
  // constant: the library is not to change it in place.
  void add(std::uint16_t kind, bool constant, std::string body) {
    pad(body);
    put(messages_, kind);
    put(messages_, static_cast<std::uint16_t>(body.size()));
    put(messages_, std::uint32_t{constant});  // flags, three bytes of nothing
    messages_ += body;
    ++count_;
  }
  std::string bytes() const {
    std::string bytes;
    put(bytes, std::uint16_t{1});  // version
    put(bytes, count_);
    put(bytes, std::uint32_t{1});  // hard links to it
    put(bytes, static_cast<std::uint32_t>(messages_.size()));
    pad(bytes);
    return bytes + messages_;
  }

 private:
  std::string messages_;
  std::uint16_t count_ = 0;
};

// Version 1, with the largest sizes, which are the sizes.
std::string space_bytes(const std::vector<std::uint64_t>& dims) {
  std::string bytes;
  put(bytes, std::uint8_t{1});
  put(bytes, static_cast<std::uint8_t>(dims.size()));
  put(bytes, std::uint8_t{!dims.empty()});
  pad(bytes);
  for (int times = 0; times < 2; ++times)
    for (const std::uint64_t n : dims) put(bytes, n);
  return bytes;
}

// 0 to count - 1 in the order of their digits: 0, 1, 10, 100, 101, ...
std::vector<std::size_t> numbers_by_text(std::size_t count) {
  std::vector<std::size_t> order;
  const std::function<void(std::size_t)> visit = [&](std::size_t number) {
    if (number >= count) return;
    order.push_back(number);
    for (std::size_t digit = 0; number > 0 && digit < 10; ++digit) visit(10 * number + digit);
  };
  for (std::size_t digit = 0; digit < 10; ++digit) visit(digit);
  return order;
}

const std::filesystem::path& create_new(const std::filesystem::path& path) {
  const detail::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) throw_file_error(path, errno);
  return path;
}

}  // namespace

std::string hdf5_type_bytes(const Hdf5Handle& type) {
  constexpr std::size_t kPrefix = 2;  // of the library's own
  std::size_t size = 0;
  hdf5_check(H5Tencode(type.get(), nullptr, &size), "HDF5 type");
  std::string bytes(size, '\0');
  hdf5_check(H5Tencode(type.get(), bytes.data(), &size), "HDF5 type");
  return bytes.substr(kPrefix);
}

GroupFile::GroupFile(const std::filesystem::path& path) : path_(path), values_(create_new(path)), end_(kListsEnd) {
  attribute_type_[0] = hdf5_type_bytes(hdf5_type(DType::i64, "HDF5"));
  attribute_type_[1] = hdf5_type_bytes(hdf5_type(DType::f64, "HDF5"));
  attribute_type_[2] = hdf5_type_bytes(hdf5_text_type("HDF5"));
  attribute_type_[2][4] = 16;  // bytes of a reference, where the library counts those of its pointer
}

std::uint64_t GroupFile::place(std::size_t bytes) {
  const std::uint64_t at = end_;
  end_ += (bytes + 7) / 8 * 8;
  return at;
}

std::uint64_t GroupFile::next_small(std::size_t bytes) {
  if (bytes > kMostSmall) return end_;
  pad(small_);
  if (small_.size() + bytes > small_room_) {
    hand_over_small();
    // small files stay small
    small_room_ = std::max(bytes, std::clamp(2 * small_room_, kFirstSmall, kMostSmall));
    small_at_ = place(small_room_);
  }
  return small_at_ + small_.size();
}

std::uint64_t GroupFile::write_small(const std::string& bytes) {
  const std::uint64_t at = next_small(bytes.size());
  if (bytes.size() > kMostSmall)
    values_.write(place(bytes.size()), bytes.data(), bytes.size());
  else
    small_ += bytes;
  return at;
}

void GroupFile::begin_lists() {
  hand_over_small();
  small_at_ = kSuperblockBytes;
  small_room_ = kListsEnd - kSuperblockBytes;
}

void GroupFile::hand_over_small() {
  values_.write(small_at_, small_.data(), small_.size());
  small_.clear();
}

std::uint64_t GroupFile::write_set(const std::string& type, const std::vector<std::uint64_t>& dims, const void* data,
                                   std::size_t bytes) {
  const std::uint64_t at = bytes == 0 ? kNowhere : place(bytes);
  if (bytes > 0) values_.write(at, data, bytes);
  // no gaps, so that neighbours are written at once
  if (end_ > at + bytes && bytes > 0) values_.write(at + bytes, &kZeros, end_ - at - bytes);
  Header header;
  header.add(kSpace, false, space_bytes(dims));
  header.add(kType, true, type);
  // version 2, place from the start, never filled, with zeros
  header.add(kFill, true, {"\2\1\1\1\0\0\0\0", 8});
  std::string layout = "\3\1";  // version 3, contiguous
  put(layout, at);
  put(layout, std::uint64_t{bytes});
  header.add(kLayout, true, layout);
  return write_small(header.bytes());
}

GroupFile::Group GroupFile::write_group(std::vector<Link> links, const std::vector<Attribute>& attributes) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) { return a.name < b.name; });
  return write_links(
      links.size(), [&](std::size_t k) { return links[k]; }, attributes);
}

GroupFile::Group GroupFile::write_group(const std::string& prefix, const std::vector<std::uint64_t>& objects,
                                        const std::vector<Attribute>& attributes) {
  const std::vector<std::size_t> order = numbers_by_text(objects.size());
  return write_links(
      order.size(),
      [&](std::size_t k) {
        return Link{prefix + std::to_string(order[k]), objects[order[k]]};
      },
      attributes);
}

GroupFile::Group GroupFile::write_links(std::size_t count, const std::function<Link(std::size_t)>& link,
                                        const std::vector<Attribute>& attributes) {
  Group group;
  std::string names(8, '\0');  // first the empty one, that is before all others
  std::vector<Node> nodes;
  for (std::size_t k = 0; k < count; k += kLeafLinks)
    nodes.push_back(write_leaf(k, std::min(k + kLeafLinks, count), link, names));
  int level = 0;
  do nodes = write_tree_level(nodes, level++);
  while (nodes.size() > 1);
  group.tree = nodes[0].address;

  const std::uint64_t names_at = write_small(names);
  std::string heap = "HEAP";
  pad(heap);  // version 0
  put(heap, std::uint64_t{names.size()});
  put(heap, std::uint64_t{1});  // no free list
  put(heap, names_at);
  group.heap = write_small(heap);

  Header header;
  std::string table;
  put(table, group.tree), put(table, group.heap);
  header.add(kSymbolTable, false, table);
  for (const Attribute& attribute : attributes) header.add(kAttribute, false, attribute_bytes(attribute));
  group.object = write_small(header.bytes());
  return group;
}

std::string GroupFile::attribute_bytes(const Attribute& attribute) {
  const std::string& type = attribute_type_[attribute.value.index()];
  std::string bytes, name = attribute.name, padded_type = type;
  const std::string space = space_bytes({});
  name.push_back('\0');
  put(bytes, std::uint16_t{1});  // version
  for (const std::string* part : {&std::as_const(name), &type, &space})
    put(bytes, static_cast<std::uint16_t>(part->size()));
  pad(name), pad(padded_type);
  bytes += name + padded_type + space;
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) put(bytes, *number);
  if (const auto* real = std::get_if<double>(&attribute.value)) put(bytes, *real);
  if (const auto* text = std::get_if<std::string_view>(&attribute.value)) bytes += text_reference(*text);
  return bytes;
}

// A collection of the global heap with one text, and where that is.
std::string GroupFile::text_reference(std::string_view text) {
  constexpr std::size_t kObjectHead = 16, kLeastCollection = 4096;
  std::string object, bytes = "GCOL\1", reference;
  put(object, std::uint16_t{1});  // its number
  put(object, std::uint16_t{1});  // references to it
  put(object, std::uint32_t{0});
  put(object, std::uint64_t{text.size()});
  object += text;
  pad(object);
  pad(bytes);
  const std::size_t size = std::max(kLeastCollection, bytes.size() + 8 + object.size() + kObjectHead);
  put(bytes, std::uint64_t{size});
  bytes += object;
  put(bytes, std::uint64_t{0});  // number 0 is what is free
  put(bytes, std::uint64_t{size - bytes.size() + 8});
  bytes.resize(size);
  put(reference, static_cast<std::uint32_t>(text.size()));
  put(reference, write_small(bytes));
  put(reference, std::uint32_t{1});
  return reference;
}

GroupFile::Node GroupFile::write_leaf(std::size_t first, std::size_t end, const std::function<Link(std::size_t)>& link,
                                      std::string& names) {
  std::string leaf = "SNOD\1";
  leaf.push_back('\0');
  put(leaf, static_cast<std::uint16_t>(end - first));
  std::uint64_t name_at = 0;
  for (std::size_t k = first; k < end; ++k) {
    const Link one = link(k);
    name_at = names.size();
    names += one.name;
    names.push_back('\0');
    pad(names);
    put(leaf, name_at);
    put(leaf, one.object);
    leaf.resize(8 + (k - first + 1) * kLinkBytes);  // nothing cached of the object
  }
  leaf.resize(kLeafBytes);
  return {write_small(leaf), name_at};
}

// Nodes of version 1 that hold those `below`, beside each other.
std::vector<GroupFile::Node> GroupFile::write_tree_level(const std::vector<Node>& below, int level) {
  const std::size_t count = std::max<std::size_t>(1, (below.size() + kNodeChildren - 1) / kNodeChildren);
  const std::uint64_t at = next_small(count * kNodeBytes);
  std::vector<Node> nodes;
  std::string bytes;
  std::uint64_t last_name = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i * kNodeChildren, end = std::min(first + kNodeChildren, below.size());
    bytes += "TREE";
    bytes.push_back('\0');  // of a group
    put(bytes, static_cast<std::uint8_t>(level));
    put(bytes, static_cast<std::uint16_t>(end - first));
    put(bytes, i == 0 ? kNowhere : at + (i - 1) * kNodeBytes);
    put(bytes, i + 1 == count ? kNowhere : at + (i + 1) * kNodeBytes);
    put(bytes, last_name);
    for (std::size_t k = first; k < end; ++k) {
      put(bytes, below[k].address);
      put(bytes, last_name = below[k].last_name);
    }
    bytes.resize((i + 1) * kNodeBytes);
    nodes.push_back({at + i * kNodeBytes, last_name});
  }
  write_small(bytes);
  return nodes;
}

void GroupFile::finish(const Group& root) {
  hand_over_small();
  std::string block = "\x89HDF\r\n\x1a\n";
  pad(block, 13);     // versions 0
  block += "\10\10";  // bytes of an address, of a size
  block.push_back('\0');
  put(block, static_cast<std::uint16_t>(kLeafLinks / 2));
  put(block, static_cast<std::uint16_t>(kNodeChildren / 2));
  put(block, std::uint32_t{0});
  for (const std::uint64_t address : {std::uint64_t{0}, kNowhere, end_, kNowhere}) put(block, address);
  put(block, std::uint64_t{0});  // the root's name
  put(block, root.object);
  put(block, std::uint64_t{1});  // what follows is of its symbol table
  put(block, root.tree);
  put(block, root.heap);
  values_.write(0, block.data(), block.size());
  values_.finish();
  if (::truncate(path_.c_str(), static_cast<off_t>(end_)) != 0) throw_file_error(path_, errno);
}

}  // namespace hotloop
