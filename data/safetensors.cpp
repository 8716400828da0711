#include "data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "data/crc32c.h"
#include "data/file.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian and written as they lie");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the reference implementation
constexpr int kMaxDepth = 3;                       // file object, tensor object, its lists
constexpr const char* kChecksumKey = "crc32c";
// An inner quote of a JSON string is written \", so these bytes are a key wherever they stand.
constexpr std::string_view kChecksumText = "\"crc32c\":\"";
constexpr std::size_t kChecksumDigits = 8;

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kNames[] = {
    {DType::boolean, "BOOL"}, {DType::u8, "U8"},   {DType::i8, "I8"},     {DType::i16, "I16"}, {DType::i32, "I32"},
    {DType::i64, "I64"},      {DType::f16, "F16"}, {DType::bf16, "BF16"}, {DType::f32, "F32"}, {DType::f64, "F64"}};

const char* safetensors_name(DType dtype) {
  for (const DTypeName& n : kNames)
    if (n.dtype == dtype) return n.name;
  return "";
}

// Text of unknown origin for a one-line message: quoted, without control characters, not endless.
std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 80)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > 80 ? "...'" : "'");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

// Bytes of a tensor, or false where the size is negative or does not fit.
bool tensor_bytes(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t& bytes) {
  bytes = dtype_size(dtype);
  for (const std::int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes)) return false;
  return true;
}

std::string hex_digits(std::uint32_t value) {
  char text[kChecksumDigits + 1];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

// Length and JSON, the checksum's digits still zero.
std::string header_of(const std::vector<const NamedTensor*>& order, const Metadata& metadata) {
  Json header = Json::object();
  Json& meta = header["__metadata__"] = Json::object();
  meta[kChecksumKey] = std::string(kChecksumDigits, '0');
  for (const auto& [key, value] : metadata) meta[key] = value;
  std::uint64_t offset = 0;
  for (const NamedTensor* t : order) {
    Json& entry = header[t->name] = Json::object();
    entry["dtype"] = safetensors_name(t->dtype);
    entry["shape"] = t->shape;
    entry["data_offsets"] = {offset, offset + t->bytes.size()};
    offset += t->bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + text;
}

// The header as a tree. Depth and repeated keys, which a tree cannot show, are refused while it is built; what stays
// open is at most kMaxDepth deep however the file was made.
Json parse_header(std::string_view text, const std::string& file) {
  std::set<std::string> keys[kMaxDepth + 1];
  const auto check = [&](int depth, Json::parse_event_t event, const Json& value) {
    // keys are reported one deeper than the object they belong to
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kMaxDepth) throw Error(file + ": header nested too deeply");
    if (event == Json::parse_event_t::object_start) keys[depth + 1].clear();
    if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys[depth].insert(key).second) throw Error(file + ": header has " + shown(key) + " twice");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& e) {
    throw Error(file + ": header is not valid JSON (at byte " + std::to_string(e.byte) + ")");
  } catch (const Json::exception&) {
    throw Error(file + ": header is not valid JSON");
  } catch (const std::bad_alloc&) {
    throw Error(file + ": header does not fit in memory");
  }
}

// An element of a list of sizes or offsets: nothing but a whole number from 0.
bool as_size(const Json& value, std::uint64_t& size) {
  if (!value.is_number_unsigned()) return false;
  size = value.get<std::uint64_t>();
  return size <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

// One tensor's header entry; `begin` and `end` are its offsets in the data. Returns what is wrong, or "".
std::string read_entry(const Json& entry, NamedTensor& tensor, std::uint64_t& begin, std::uint64_t& end) {
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    return "needs dtype, shape and data_offsets and nothing else";
  const Json& dtype = entry["dtype"];
  const auto* known =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const DTypeName& n) { return dtype == n.name; });
  if (known == std::end(kNames))
    return "dtype " +
           (dtype.is_string() ? shown(dtype.get_ref<const std::string&>()) : std::string("that is no text")) +
           " is not supported";
  tensor.dtype = known->dtype;
  if (!entry["shape"].is_array()) return "shape is not a list";
  for (const Json& n : entry["shape"]) {
    std::uint64_t size = 0;
    if (!as_size(n, size)) return "shape has an element that is not a size";
    tensor.shape.push_back(static_cast<std::int64_t>(size));
  }
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !as_size(offsets[0], begin) || !as_size(offsets[1], end) ||
      begin > end)
    return "data_offsets are not two sizes in order";
  std::uint64_t bytes = 0;
  if (!tensor_bytes(tensor.dtype, tensor.shape, bytes) || bytes != end - begin)
    return "shape " + shape_text(tensor.shape) + " does not fit " + std::to_string(end - begin) + " bytes of " +
           dtype_name(tensor.dtype);
  return "";
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const Metadata& metadata) {
  std::set<std::string> names = {"__metadata__"};
  for (const NamedTensor& t : tensors) {
    std::uint64_t bytes = 0;
    if (!tensor_bytes(t.dtype, t.shape, bytes) || bytes != t.bytes.size())
      throw Error(path.string() + ": tensor " + shown(t.name) + ": " + std::to_string(t.bytes.size()) +
                  " bytes do not fit " + dtype_name(t.dtype) + " " + shape_text(t.shape));
    if (!names.insert(t.name).second) throw Error(path.string() + ": tensor " + shown(t.name) + " is there twice");
  }
  if (metadata.contains(kChecksumKey)) throw Error(path.string() + ": metadata key 'crc32c' is reserved");
  // widest elements first, so that without gaps each tensor is aligned to its element
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& t : tensors) order.push_back(&t);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return dtype_size(a->dtype) > dtype_size(b->dtype);
  });
  std::string header;
  try {
    header = header_of(order, metadata);
  } catch (const Json::exception&) {
    throw Error(path.string() + ": a tensor name or metadata value is not valid UTF-8");
  }
  if (header.size() - kLengthBytes > kMaxHeader) throw Error(path.string() + ": too many tensors for one file");
  std::uint32_t crc = crc32c(header);
  for (const NamedTensor* t : order) crc = crc32c(t->bytes.data(), t->bytes.size(), crc);
  header.replace(header.find(kChecksumText) + kChecksumText.size(), kChecksumDigits, hex_digits(crc));
  AtomicFile file(path);
  file.write(header);
  for (const NamedTensor* t : order) file.write(t->bytes.data(), t->bytes.size());
  file.commit();
}

namespace {

// A file of another kind may be large: its first bytes are enough to refuse it.
void refuse_foreign(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;  // read_file() says what it is
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  char first = 0;
  if (!file.read(reinterpret_cast<char*>(&length), sizeof length) || !file.get(first)) return;
  if (length > kMaxHeader || first != '{') throw Error(path.string() + ": not a safetensors file");
}

}  // namespace

Safetensors Safetensors::read(const std::filesystem::path& path, const SafetensorsOptions& options) {
  refuse_foreign(path);
  return parse(read_file(path, options.max_bytes), path.string(), options);
}

Safetensors Safetensors::parse(std::string content, std::string name, const SafetensorsOptions& options) {
  Safetensors out;
  out.name_ = std::move(name);
  out.content_ = std::make_unique<const std::string>(std::move(content));
  out.read_header(options);
  return out;
}

Safetensors Safetensors::of(std::string name, const std::vector<NamedTensor>& tensors, Metadata metadata) {
  Safetensors out;
  out.name_ = std::move(name);
  out.metadata_ = std::move(metadata);
  std::string content;
  for (const NamedTensor& t : tensors) content.append(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  out.content_ = std::make_unique<const std::string>(std::move(content));
  const char* at = out.content_->data();
  for (NamedTensor t : tensors) {
    t.bytes = std::as_bytes(std::span(at, t.bytes.size()));
    at += t.bytes.size();
    out.tensors_.push_back(std::move(t));
  }
  return out;
}

void Safetensors::read_header(const SafetensorsOptions& options) {
  const std::string_view content = *content_;
  std::uint64_t length = 0;
  if (content.size() < kLengthBytes) fail("not a safetensors file (" + std::to_string(content.size()) + " bytes)");
  std::memcpy(&length, content.data(), kLengthBytes);
  if (length > kMaxHeader || content.size() < kLengthBytes + 1 || content[kLengthBytes] != '{')
    fail("not a safetensors file");
  if (length > content.size() - kLengthBytes) fail("cut short: header of " + std::to_string(length) + " bytes");
  const std::string_view text = content.substr(kLengthBytes, length);
  const std::string_view data = content.substr(kLengthBytes + length);

  const Json header = parse_header(text, name_);
  std::vector<std::pair<std::uint64_t, NamedTensor>> found;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") {
      if (!entry.is_object()) fail("__metadata__ is not a table");
      for (const auto& [k, v] : entry.items()) {
        if (!v.is_string()) fail("__metadata__ " + shown(k) + " is not text");
        metadata_[k] = v.get<std::string>();
      }
      continue;
    }
    NamedTensor tensor;
    tensor.name = key;
    std::uint64_t begin = 0, end = 0;
    const std::string wrong = read_entry(entry, tensor, begin, end);
    if (!wrong.empty()) fail("tensor " + shown(key) + ": " + wrong);
    if (end > data.size())
      fail("cut short: tensor " + shown(key) + " ends at " + std::to_string(end) + " of " +
           std::to_string(data.size()) + " bytes");
    tensor.bytes = std::as_bytes(std::span(data.data() + begin, end - begin));
    found.emplace_back(begin, std::move(tensor));
  }
  // an empty tensor shares its offset with the next one and comes first
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.bytes.size()) < std::pair(b.first, b.second.bytes.size());
  });
  std::uint64_t expected = 0;
  for (auto& [begin, tensor] : found) {
    if (begin != expected) fail("tensor " + shown(tensor.name) + " overlaps another one or leaves a gap");
    expected += tensor.bytes.size();
    tensors_.push_back(std::move(tensor));
  }
  if (expected != data.size())
    fail(std::to_string(data.size()) + " bytes of data, but the tensors have " + std::to_string(expected));

  const auto checksum = metadata_.find(kChecksumKey);
  if (checksum == metadata_.end()) {
    if (options.require_checksum) fail("no checksum: damaged, or not written by hotloop");
    return;
  }
  const std::size_t at = text.find(kChecksumText);
  // compared as text: hexadecimal digits of either case would let a flipped bit through
  if (at == std::string_view::npos || checksum->second.size() != kChecksumDigits) fail("damaged (checksum unreadable)");
  const std::size_t digits = kLengthBytes + at + kChecksumText.size();
  std::uint32_t crc = crc32c(content.substr(0, digits));
  crc = crc32c(std::string(kChecksumDigits, '0'), crc);
  crc = crc32c(content.substr(digits + kChecksumDigits), crc);
  if (content.substr(digits, kChecksumDigits) != hex_digits(crc))
    fail("damaged: checksum " + shown(checksum->second) + ", but the content has " + hex_digits(crc));
  metadata_.erase(checksum);
}

void Safetensors::fail(const std::string& what) const { throw Error(name_ + ": " + what); }

const NamedTensor* Safetensors::find(const std::string& tensor) const {
  const auto it =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const NamedTensor& t) { return t.name == tensor; });
  return it == tensors_.end() ? nullptr : &*it;
}

const NamedTensor& Safetensors::get(const std::string& tensor) const {
  if (const NamedTensor* t = find(tensor)) return *t;
  std::vector<std::string> names;
  for (const NamedTensor& t : tensors_) names.push_back(t.name);
  const std::string near = nearest(tensor, names);
  fail("no tensor '" + tensor + "'" + (near.empty() ? "" : "; nearest is " + shown(near)));
}

const NamedTensor& Safetensors::get(const std::string& tensor, DType dtype,
                                    const std::vector<std::int64_t>& shape) const {
  const NamedTensor& t = get(tensor);
  if (t.dtype != dtype || t.shape != shape)
    fail("tensor '" + tensor + "' is " + dtype_name(t.dtype) + " " + shape_text(t.shape) + "; expected " +
         dtype_name(dtype) + " " + shape_text(shape));
  return t;
}

void Safetensors::check_dtype(const NamedTensor& tensor, DType wanted) const {
  if (tensor.dtype != wanted)
    fail("tensor '" + tensor.name + "' is " + dtype_name(tensor.dtype) + "; expected " + dtype_name(wanted));
}

const std::string& Safetensors::metadata_value(const std::string& key) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) fail("no metadata '" + key + "'");
  return it->second;
}

}  // namespace hotloop
