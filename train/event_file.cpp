#include "train/event_file.h"

#include <unistd.h>

#include <chrono>
#include <cstring>

#include "data/crc32c.h"
#include "train/tfevents.pb.h"

namespace hotloop {
namespace {

template <class T>
std::string_view as_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string event_file_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  std::string name = host;
  for (char& c : name)
    if (c == '/' || static_cast<unsigned char>(c) <= ' ') c = '_';
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return "events.out.tfevents." + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count()) + "." +
         name + "." + std::to_string(::getpid());
}

void EventFile::append_record(const std::string& record) {
  const std::uint64_t length = record.size();
  std::string framed(as_bytes(length));
  framed += as_bytes(masked_crc32c(as_bytes(length)));
  framed += record;
  framed += as_bytes(masked_crc32c(record));
  file_.append(framed);
}

void EventFile::write(double wall_time, std::int64_t step,
                      const std::vector<std::pair<std::string_view, double>>& scalars) {
  if (file_.size() == 0) {
    tfevents::Event first;
    first.set_wall_time(wall_time);
    first.set_file_version("brain.Event:2");
    append_record(first.SerializeAsString());
  }
  tfevents::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  for (const auto& [tag, value] : scalars) {
    tfevents::Summary::Value* v = event.mutable_summary()->add_value();
    v->set_tag(tag.data(), tag.size());
    v->set_simple_value(static_cast<float>(value));
  }
  append_record(event.SerializeAsString());
}

}  // namespace hotloop
