// A stand-in for libnvidia-ml with one card that answers all but its memory clock.
#include <cstring>

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** handle) {
  static int card;
  *handle = &card;
  return std::strcmp(id, "0000:3b:00.0") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
  rates[0] = 87, rates[1] = 12;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* info) {
  info[0] = 4ULL << 30, info[1] = 1ULL << 30, info[2] = 3ULL << 30;  // total, free, used
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 312500;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = 1980;
  return type == 1 ? 0 : 3;  // NVML_ERROR_NOT_SUPPORTED
}
}
