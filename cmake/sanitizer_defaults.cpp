// In every program of a sanitizer build, so that it runs alike under CTest, by hand and while its tests are listed.
// ASAN_OPTIONS and the like still win.
extern "C" {
// detect_odr_violation=1: libhotloop_generic.so holds copies of the static libraries, so the same global is registered
// twice; what is reported still is a pair of different sizes, which is a real violation.
// intercept_tls_get_addr=0: g++ 12's runtime takes thread-local storage that lies at a certain offset in its page for
// an old C library's, and reads an address from before it: the leak check then dies of SIGSEGV.
const char* __asan_default_options() {
  return "detect_odr_violation=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0";
}
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
// LibTorch keeps what it registers at load and its thread pools until the process ends.
const char* __lsan_default_suppressions() { return "leak:libtorch_cpu.so\nleak:libc10.so\nleak:libgomp.so\n"; }
}
