// What runs kernels: the CUDA driver, opened when the program runs so that it builds without a GPU, or the
// stand-in, a library of the same kernels as plain C++.
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// The question could not be asked: no driver, no device, no file.
struct Unable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The device refused or failed; its context is lost.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A kernel did not end within the limit of time.
struct Hang : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A module could not be loaded; others may be.
struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the kernel's pointers point at; to that of `d` only after kFront bytes, which nothing may write.
struct Buffers {
  static constexpr size_t kFront = 256;
  std::vector<uint8_t> a, b, c, d, meta, config;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string about() const = 0;
  virtual std::string module_path(const std::string& root, const std::string& name) const = 0;
  // Load a module from a file; called from any thread.
  virtual void* load(const std::string& path) = 0;
  virtual void unload(void* module) = 0;
  // Run a kernel on so many jobs; `d` is written. One call at a time.
  virtual void run(void* module, const std::string& kernel, unsigned threads, unsigned jobs, unsigned shared,
                   Buffers& buffers) = 0;
  virtual void enter() {}
  double device_seconds = 0;  // from each launch until it was seen to have ended
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Unable(path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Driver : public Backend {
 public:
  Driver(int device, bool cubin, double limit) : cubin_(cubin), limit_(limit) {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library_) throw Unable("there is no CUDA driver here (libcuda.so.1 cannot be opened)");
    check("cuInit", function<int (*)(unsigned)>("cuInit")(0), true);
    int count = 0;
    check("cuDeviceGetCount", function<int (*)(int*)>("cuDeviceGetCount")(&count), true);
    if (device >= count)
      throw Unable("there is no device " + std::to_string(device) + "; the driver shows " + std::to_string(count));
    int handle = 0, version = 0, major = 0, minor = 0;
    check("cuDeviceGet", function<int (*)(int*, int)>("cuDeviceGet")(&handle, device), true);
    char name[256] = "";
    check("cuDeviceGetName", function<int (*)(char*, int, int)>("cuDeviceGetName")(name, sizeof name, handle), true);
    check("cuDriverGetVersion", function<int (*)(int*)>("cuDriverGetVersion")(&version), true);
    auto attribute = function<int (*)(int*, int, int)>("cuDeviceGetAttribute");
    check("cuDeviceGetAttribute", attribute(&major, 75, handle), true);
    check("cuDeviceGetAttribute", attribute(&minor, 76, handle), true);
    about_ = std::string(name) + ", sm_" + std::to_string(10 * major + minor) + ", CUDA driver API " +
             std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    check("cuDevicePrimaryCtxRetain",
          function<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, handle), true);
    enter();
  }

  std::string about() const override { return about_; }

  std::string module_path(const std::string& root, const std::string& name) const override {
    return cubin_ ? root + "/build/" + name + ".cubin" : root + "/ptx/" + name + ".ptx";
  }

  void enter() override { check("cuCtxSetCurrent", function<int (*)(void*)>("cuCtxSetCurrent")(context_)); }

  void* load(const std::string& path) override {
    const std::string image = slurp(path);
    std::vector<char> log(8192, 0);
    int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER and its size in bytes
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    void* module = nullptr;
    const int code = function<int (*)(void**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx")(
        &module, image.c_str(), cubin_ ? 0 : 2, options, values);
    if (code) throw LoadError(path + " cannot be loaded: " + named(code) + " " + log.data());
    return module;
  }

  void unload(void* module) override { check("cuModuleUnload", function<int (*)(void*)>("cuModuleUnload")(module)); }

  void run(void* module, const std::string& kernel, unsigned threads, unsigned jobs, unsigned shared,
           Buffers& buffers) override {
    void* entry = nullptr;
    const int found = function<int (*)(void**, void*, const char*)>("cuModuleGetFunction")(&entry, module,
                                                                                            kernel.c_str());
    if (found) throw LoadError("there is no kernel " + kernel + ": " + named(found));
    if (shared > 48 * 1024)  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
      check("cuFuncSetAttribute", function<int (*)(void*, int, int)>("cuFuncSetAttribute")(entry, 8, int(shared)));
    std::vector<std::vector<uint8_t>*> all{&buffers.a, &buffers.b,    &buffers.c,
                                           &buffers.d, &buffers.meta, &buffers.config};
    std::vector<uint64_t> pointers;
    uint64_t at = 0;
    for (auto* buffer : all) at += (buffer->size() + 511) / 256 * 256;
    const uint64_t start = room(at);
    at = start;
    auto upload = function<int (*)(uint64_t, const void*, size_t)>("cuMemcpyHtoD_v2");
    for (auto* buffer : all) {
      pointers.push_back(at + (buffer == &buffers.d ? Buffers::kFront : 0));
      if (!buffer->empty()) check("cuMemcpyHtoD", upload(at, buffer->data(), buffer->size()));
      at += (buffer->size() + 511) / 256 * 256;
    }
    std::vector<void*> arguments;
    for (uint64_t& pointer : pointers) arguments.push_back(&pointer);
    const auto began = std::chrono::steady_clock::now();
    check(kernel, function<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                   void**, void**)>("cuLaunchKernel")(entry, jobs, 1, 1, threads, 1, 1, shared,
                                                                      nullptr, arguments.data(), nullptr));
    auto query = function<int (*)(void*)>("cuStreamQuery");
    for (int code = query(nullptr); code; code = query(nullptr)) {
      if (code != 600) check(kernel, code);  // 600: not ready
      if (seconds_since(began) > limit_) throw Hang(kernel + " did not end within " + std::to_string(limit_) + " s");
      std::this_thread::yield();
    }
    device_seconds += seconds_since(began);
    check(kernel, function<int (*)(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2")(
                      buffers.d.data(), pointers[3] - Buffers::kFront, buffers.d.size()));
  }

 private:
  template <typename Function>
  Function function(const char* name) {
    std::lock_guard<std::mutex> lock(names_);
    void*& known = functions_[name];
    if (!known) known = dlsym(library_, name);
    if (!known) throw Unable(std::string("the CUDA driver has no ") + name);
    return reinterpret_cast<Function>(known);
  }

  static double seconds_since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  std::string named(int code) {
    const char* name = nullptr;
    function<int (*)(int, const char**)>("cuGetErrorName")(code, &name);
    return name ? name : "error " + std::to_string(code);
  }

  void check(const std::string& what, int code, bool asking = false) {
    if (!code) return;
    if (asking) throw Unable(what + ": " + named(code));
    throw DeviceError(what + ": " + named(code));
  }

  // Device memory of at least so many bytes, kept from call to call.
  uint64_t room(uint64_t bytes) {
    if (bytes > held_) {
      if (held_) check("cuMemFree", function<int (*)(uint64_t)>("cuMemFree_v2")(memory_));
      held_ = bytes * 2;
      check("cuMemAlloc", function<int (*)(uint64_t*, size_t)>("cuMemAlloc_v2")(&memory_, held_));
    }
    return memory_;
  }

  void* library_ = nullptr;
  void* context_ = nullptr;
  bool cubin_;
  double limit_;
  std::string about_;
  std::mutex names_;
  std::map<std::string, void*> functions_;
  uint64_t memory_ = 0, held_ = 0;
};

class StandIn : public Backend {
 public:
  std::string about() const override { return "stand-in on the CPU"; }
  std::string module_path(const std::string& root, const std::string& name) const override {
    return root + "/build/" + name + ".so";
  }
  void* load(const std::string& path) override {
    void* library = dlopen((path[0] == '/' ? path : "./" + path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw LoadError(path + " cannot be loaded: " + dlerror());
    return library;
  }
  void unload(void* module) override { dlclose(module); }
  void run(void* module, const std::string& kernel, unsigned, unsigned jobs, unsigned shared,
           Buffers& buffers) override {
    using Entry = void (*)(void*, void*, void*, void*, void*, void*, unsigned, unsigned);
    auto entry = reinterpret_cast<Entry>(dlsym(module, (kernel + "__stand_in").c_str()));
    if (!entry) throw LoadError("there is no kernel " + kernel);
    entry(buffers.a.data(), buffers.b.data(), buffers.c.data(), buffers.d.data() + Buffers::kFront,
          buffers.meta.data(), buffers.config.data(), jobs, shared);
  }
};
