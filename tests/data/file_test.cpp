#include "data/file.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kAny = UINT64_MAX;
constexpr int kSkipped = 77;

std::size_t count_files(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Runs `body` in a child that sees a file system of 64 KiB at `folder`; kSkipped where this machine does not allow it.
template <class Body>
int on_tiny_disk(const fs::path& folder, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(kSkipped);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(kSkipped);
    if (::mount("none", folder.c_str(), "tmpfs", 0, "size=64k") != 0) ::_exit(kSkipped);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AtomicFile, ReplacesOnlyOnCommit) {
  const TempFolder folder;
  const fs::path path = folder / "a";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path, kAny), "old");
    EXPECT_EQ(count_files(folder.path()), 2u);
  }
  EXPECT_EQ(read_file(path, kAny), "old");
  EXPECT_EQ(count_files(folder.path()), 1u) << "the temporary stays";
  AtomicFile file(path);
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(path, kAny), "new");
  EXPECT_EQ(count_files(folder.path()), 1u);
}

TEST(AtomicFile, NamesPathAndReason) {
  const TempFolder folder;
  const fs::path path = folder / "missing/a";
  EXPECT_EQ(error_text([&] { write_file(path, "x"); }), path.string() + ": No such file or directory");
  make_folder(folder / "d");
  EXPECT_EQ(error_text([&] { write_file(folder / "d", "x"); }), (folder / "d").string() + ": Is a directory");
  EXPECT_EQ(count_files(folder.path()), 1u);
}

TEST(AtomicFile, FullDiskKeepsTheOldFile) {
  const TempFolder folder;
  const int status = on_tiny_disk(folder.path(), [&] {
    const fs::path path = folder / "latest.safetensors";
    write_file(path, "old");
    const std::string text = error_text([&] { write_file(path, std::string(1 << 20, 'x')); });
    return text == path.string() + ": No space left on device" && read_file(path, kAny) == "old" &&
           count_files(folder.path()) == 1;
  });
  if (status == kSkipped) GTEST_SKIP() << "no right to mount a file system here";
  EXPECT_EQ(status, 0);
}

TEST(ReadFile, RefusesWhatIsNoFileOrTooLarge) {
  const TempFolder folder;
  write_file(folder / "a", "12345");
  EXPECT_EQ(read_file(folder / "a", 5), "12345");
  EXPECT_EQ(error_text([&] { read_file(folder / "a", 4); }),
            (folder / "a").string() + ": 5 bytes; at most 4 are accepted");
  EXPECT_EQ(error_text([&] { read_file(folder.path(), kAny); }), folder.path().string() + ": Is a directory");
  EXPECT_EQ(error_text([&] { read_file("/dev/zero", kAny); }), "/dev/zero: not a regular file");
  EXPECT_EQ(error_text([&] { read_file(folder / "b", kAny); }),
            (folder / "b").string() + ": No such file or directory");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_text([&] { read_file(folder / "pipe", kAny); }), (folder / "pipe").string() + ": not a regular file");
}

TEST(ReadFile, SizeThatNoMemoryHoldsIsAnError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer ends the program where operator new throws";
#endif
  const TempFolder folder;
  write_file(folder / "a", "");
  if (::truncate((folder / "a").c_str(), off_t{1} << 43) != 0) GTEST_SKIP() << "no sparse file of 8 TiB here";
  EXPECT_NE(error_text([&] { read_file(folder / "a", kAny); }).find("do not fit in memory"), std::string::npos);
}

TEST(LinkFile, ReplacesAndLeavesNothing) {
  const TempFolder folder;
  write_file(folder / "1", "one");
  write_file(folder / "2", "two");
  link_file(folder / "1", folder / "latest");
  link_file(folder / "1", folder / "latest");  // both names already are one file
  EXPECT_EQ(read_file(folder / "latest", kAny), "one");
  EXPECT_EQ(count_files(folder.path()), 3u);
  link_file(folder / "2", folder / "latest");
  EXPECT_EQ(read_file(folder / "latest", kAny), "two");
  EXPECT_EQ(read_file(folder / "1", kAny), "one");
  EXPECT_EQ(count_files(folder.path()), 3u);
  EXPECT_EQ(error_text([&] { link_file(folder / "3", folder / "latest"); }),
            (folder / "3").string() + ": No such file or directory");
}

TEST(MakeFolder, OneLineWhereItCannot) {
  const TempFolder folder;
  make_folder(folder / "a/b/c");
  make_folder(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  write_file(folder / "f", "");
  EXPECT_EQ(error_text([&] { make_folder(folder / "f"); }), (folder / "f").string() + ": Not a directory");
  EXPECT_EQ(error_text([&] { make_folder(folder / "f/g"); }), (folder / "f/g").string() + ": Not a directory");
}

TEST(Temporaries, OnlyTheirNamesAreRemoved) {
  const TempFolder folder;
  for (const char* name : {"a.tmp.123", "a.tmp.", "a.tmp.1x", "tmp.1", "a.safetensors"}) write_file(folder / name, "");
  remove_temporaries(folder.path());
  EXPECT_FALSE(fs::exists(folder / "a.tmp.123"));
  EXPECT_EQ(count_files(folder.path()), 4u);
}

TEST(AppendFile, GrowsAndIsCutBack) {
  const TempFolder folder;
  {
    AppendFile file(folder / "a");
    file.append("one\n");
    EXPECT_EQ(file.size(), 4u);
    EXPECT_EQ(read_file(folder / "a", kAny), "");
    file.drain();
    EXPECT_EQ(read_file(folder / "a", kAny), "one\n");
    file.append("two\n");
  }
  EXPECT_EQ(read_file(folder / "a", kAny), "one\ntwo\n");
  AppendFile file(folder / "a");
  EXPECT_EQ(file.size(), 8u);
  file.truncate_to(4);
  file.append("2\n");
  file.flush();
  EXPECT_EQ(read_file(folder / "a", kAny), "one\n2\n");
  EXPECT_EQ(error_text([&] { file.truncate_to(7); }),
            (folder / "a").string() + ": 6 bytes, but 7 were there when the checkpoint was written");
}

TEST(AppendFile, EveryFailedWriteIsAnError) {
  AppendFile file("/dev/full");
  file.append("x");
  EXPECT_EQ(error_text([&] { file.drain(); }), "/dev/full: No space left on device");
  EXPECT_EQ(error_text([&] { file.flush(); }), "/dev/full: No space left on device");
  EXPECT_EQ(error_text([&] { file.append(std::string(1 << 20, 'x')); }), "/dev/full: No space left on device");
}

TEST(AppendFile, FullDiskLeavesWholeRowsAndGoesOnWhenThereIsRoom) {
  const TempFolder folder;
  const int status = on_tiny_disk(folder.path(), [&] {
    const fs::path path = folder / "metrics.csv";
    write_file(folder / "ballast", std::string(40000, 'x'));
    AppendFile file(path);
    file.append("row\n");
    file.flush();
    file.append(std::string(50000, 'y') + "\n");
    const bool refused = error_text([&] { file.flush(); }) == path.string() + ": No space left on device";
    const bool whole = read_file(path, kAny) == "row\n";
    fs::remove(folder / "ballast");
    file.flush();
    return refused && whole && read_file(path, kAny) == "row\n" + std::string(50000, 'y') + "\n";
  });
  if (status == kSkipped) GTEST_SKIP() << "no right to mount a file system here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hotloop
