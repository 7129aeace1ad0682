// Runs the cases of a suite and compares every element of every D with its exact value, tolerance 0: see kHelp.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "driver.h"
#include "holders.h"
#include "reference.h"

namespace {

struct Options {
  std::string root = ".", via = "ptx", only, skip, out;
  int device = 0;
  unsigned jobs = 0, batch = 4096;
  double limit = 20;
};

const char kHelp[] =
    R"(usage: conformance [SUITE-FOLDER] [options]

Runs the cases of a suite and compares every element of every D with its exact value, tolerance 0.
Standard output has one JSON line a case, then one with a summary; standard error has the summary in words.

  SUITE-FOLDER       the folder with suite.txt (default: this one)
  --via WAY          ptx: the driver compiles it (default); cubin: from `make cubin`;
                     stand-in: no GPU, plain C++ from `make stand-in`
  --device N         the number of the GPU (default: 0)
  --only FILE        only the cases that FILE names, one a line (the "case" of manifest.json)
  --skip FILE        without the cases that FILE names
  --out FILE         the JSON lines go to FILE
  --jobs N           threads that compute the exact values (default: one a processor)
  --batch N          cases of one launch at most (default: 4096); 1 tells the case of a device error
  --limit SECONDS    how long a launch may take (default: 20)
  -h, --help         this text

Exit codes: 0 all passed; 1 some did not; 2 the question could not be asked (an option, a suite that is cut off,
no driver, no device) or the answer could not be written;
3 the device failed (its kernel is named, nothing more can run in this process); 4 a kernel did not end.
)";

std::set<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Unable(path + " cannot be read");
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.insert(line);
  return lines;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + "\"";
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "\"0x%llx\"", static_cast<unsigned long long>(value));
  return text;
}

class Run {
 public:
  Run(const Suite& suite, Backend& backend, const Options& options)
      : suite_(suite), backend_(backend), options_(options) {
    out_ = options.out.empty() ? stdout : std::fopen(options.out.c_str(), "w");
    if (!out_) throw Unable(options.out + " cannot be written");
  }

  int all(const std::vector<const Kernel*>& kernels) {
    std::vector<std::vector<const Kernel*>> modules;
    for (const Kernel* kernel : kernels) {
      if (modules.empty() || modules.back().back()->module != kernel->module) modules.emplace_back();
      modules.back().push_back(kernel);
    }
    const unsigned hardware = std::max(1u, std::thread::hardware_concurrency());
    const unsigned count = std::min<size_t>(options_.jobs ? options_.jobs : hardware, modules.size());
    std::atomic<size_t> next{0};
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < count; ++i)
      workers.emplace_back([&] {
        try {
          backend_.enter();
          for (size_t at = next++; at < modules.size(); at = next++) module(modules[at]);
        } catch (const std::exception& error) {
          stop(2, "error", error.what(), nullptr);
        }
      });
    for (std::thread& worker : workers) worker.join();
    summary("");
    if (options_.out.size() && std::fclose(out_)) unwritten_ = errno;
    if (unwritten_)
      throw Unable((options_.out.empty() ? "standard output" : options_.out) + " cannot be written: " +
                   std::strerror(unwritten_));
    return failed_ || errors_ ? 1 : 0;
  }

 private:
  void module(const std::vector<const Kernel*>& kernels) {
    const auto began = std::chrono::steady_clock::now();
    void* loaded = nullptr;
    std::string why;
    try {
      loaded = backend_.load(backend_.module_path(options_.root, kernels[0]->module));
    } catch (const LoadError& error) {
      why = error.what();
    } catch (const Unable& error) {
      why = error.what();
    }
    add(load_seconds_, began);
    for (const Kernel* kernel : kernels) {
      if (!loaded) {
        for (const Case& test : kernel->cases) error(test, why);
        continue;
      }
      for (size_t start = 0; start < kernel->cases.size(); start += options_.batch)
        batch(loaded, *kernel, start, std::min<size_t>(kernel->cases.size(), start + options_.batch));
    }
    if (loaded) backend_.unload(loaded);
  }

  static void append(std::vector<uint8_t>& buffer, const std::vector<uint64_t>& values, size_t size) {
    for (uint64_t value : values) {
      uint8_t bytes[8];
      std::memcpy(bytes, &value, 8);
      buffer.insert(buffer.end(), bytes, bytes + size);
    }
  }

  template <typename Word>
  static void append_words(std::vector<uint8_t>& buffer, const std::vector<Word>& words) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    buffer.insert(buffer.end(), bytes, bytes + words.size() * sizeof(Word));
  }

  void batch(void* loaded, const Kernel& kernel, size_t from, size_t to) {
    auto began = std::chrono::steady_clock::now();
    const Matrix& d = kernel.matrices.at('d');
    Buffers buffers;
    std::vector<Job> jobs;
    unsigned shared = 0;
    const std::vector<uint64_t> guard(suite_.guard, kGuard);
    append(buffers.d, std::vector<uint64_t>(Buffers::kFront / d.size(), kGuard), d.size());
    for (size_t i = from; i < to; ++i) {
      const Case& test = kernel.cases[i];
      try {
        jobs.push_back(job_of(suite_, kernel, test));
      } catch (const std::exception& fault) {
        stop(2, "error", "case " + test.id + ": " + fault.what(), &kernel);
      }
      const Job& job = jobs.back();
      if (kernel.has('a')) append(buffers.a, job.a, kernel.matrices.at('a').size());
      if (kernel.has('b')) append(buffers.b, job.b, kernel.matrices.at('b').size());
      if (kernel.has('c')) append(buffers.c, job.c, kernel.matrices.at('c').size());
      std::vector<uint64_t> poison(job.expected);  // no element is right before it is written
      for (uint64_t& value : poison) value = ~value;
      append(buffers.d, poison, d.size());
      append(buffers.d, guard, d.size());
      append_words(buffers.meta, job.meta);
      append_words(buffers.config, test.config);
      shared = std::max(shared, test.config.at(suite_.config.at("shared-bytes")));
    }
    add(host_seconds_, began);
    double seconds = 0;
    try {
      std::lock_guard<std::mutex> lock(device_);
      began = std::chrono::steady_clock::now();
      backend_.run(loaded, kernel.name, kernel.threads, unsigned(to - from), shared, buffers);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      run_seconds_ = run_seconds_ + seconds;
    } catch (const LoadError& fault) {
      for (size_t i = from; i < to; ++i) error(kernel.cases[i], fault.what());
      return;
    } catch (const Hang& fault) {
      stop(4, "hang", fault.what(), &kernel, from, to);
    } catch (const DeviceError& fault) {
      stop(3, "device-error", fault.what(), &kernel, from, to);
    }
    began = std::chrono::steady_clock::now();
    const size_t stride = (d.count() + suite_.guard) * d.size();
    for (size_t i = from; i < to; ++i)
      compare(kernel, kernel.cases[i], jobs[i - from], buffers.d.data() + Buffers::kFront + (i - from) * stride,
              i == from ? Buffers::kFront / d.size() : 0, seconds / (to - from));
    add(host_seconds_, began);
  }

  // D, what lies behind it, and so many elements in front of it (where no other case's D ends).
  void compare(const Kernel& kernel, const Case& test, const Job& job, const uint8_t* bytes, size_t front,
               double seconds) {
    const Matrix& d = kernel.matrices.at('d');
    const bool floats = d.type->kind == exact::Type::FLOAT && kernel.operation != "move";
    const uint64_t magnitude = exact::mask(d.width - 1);
    std::string wrong;
    size_t count = 0;
    for (size_t i = 1; i <= front; ++i) {
      uint64_t got = 0;
      std::memcpy(&got, bytes - i * d.size(), d.size());
      if (got == (kGuard & exact::mask(unsigned(8 * d.size()))) || count++ >= 4) continue;
      wrong += (count > 1 ? ", {" : "{") + ("\"before\": " + std::to_string(i)) + ", \"got\": " + hexadecimal(got) + "}";
    }
    for (size_t i = 0; i < d.count() + suite_.guard; ++i) {
      uint64_t got = 0;
      std::memcpy(&got, bytes + i * d.size(), d.size());
      const bool inside = i < d.count();
      const uint64_t expected = inside ? job.expected[i] : kGuard & exact::mask(unsigned(8 * d.size()));
      // A sum that is zero may have either sign.
      const bool zero = inside && floats && !(expected & magnitude) && !(got & ~(magnitude + 1));
      if (got == expected || zero) continue;
      if (count++ >= 4) continue;
      if (count > 1) wrong += ", ";
      if (!inside) {
        wrong += "{\"behind\": " + std::to_string(i - d.count()) + ", \"got\": " + hexadecimal(got) + "}";
        continue;
      }
      if (i >= d.elements()) {
        wrong += "{\"overwritten_elsewhere\": " + std::to_string(got) + "}";
        continue;
      }
      const unsigned product = unsigned(i / (size_t(d.rows) * d.cols));
      const unsigned row = unsigned(i / d.cols % d.rows), col = unsigned(i % d.cols);
      Holder holder{};
      if (holder_of(kernel.layout, row, col, product, holder))
        wrong += "{\"thread\": " + std::to_string(holder.thread) + ", \"element\": " + std::to_string(holder.element) + ", ";
      else
        wrong += "{";
      if (d.products > 1) wrong += "\"product\": " + std::to_string(product) + ", ";
      wrong += "\"row\": " + std::to_string(row) + ", \"col\": " + std::to_string(col) +
               ", \"expected\": " + hexadecimal(expected) + ", \"got\": " + hexadecimal(got) + "}";
    }
    char text[64];
    std::snprintf(text, sizeof text, ", \"seconds\": %.6f", seconds);
    std::string line = "{\"case\": " + quoted(test.id) + ", \"status\": " + (count ? "\"failed\"" : "\"passed\"");
    if (count) line += ", \"count\": " + std::to_string(count) + ", \"wrong\": [" + wrong + "]";
    say(line + text + "}");
    if (count)
      fault("failed: case " + test.id + " of " + kernel.name + ": " + std::to_string(count) + " wrong elements");
    ++(count ? failed_ : passed_);
  }

  void error(const Case& test, const std::string& why) {
    ++errors_;
    fault("error: case " + test.id + ": " + why);
    say("{\"case\": " + quoted(test.id) + ", \"status\": \"error\", \"why\": " + quoted(why) + "}");
  }

  // Nothing more can be asked in this process: say why, of which cases, and end.
  [[noreturn]] void stop(int code, const std::string& status, const std::string& why, const Kernel* kernel,
                         size_t from = 0, size_t to = 0) {
    stopping_.lock();
    for (size_t i = from; i < to; ++i)
      say("{\"case\": " + quoted(kernel->cases[i].id) + ", \"status\": " + quoted(status) + ", \"why\": " + quoted(why) +
          ", \"together\": " + std::to_string(to - from) + "}");
    summary(why);
    std::fprintf(stderr, "conformance: %s\n", why.c_str());
    std::fflush(nullptr);
    std::_Exit(code);
  }

  void summary(const std::string& stopped) {
    char numbers[256];
    std::snprintf(numbers, sizeof numbers,
                  "\"passed\": %zu, \"failed\": %zu, \"errors\": %zu, \"load_seconds\": %.3f, \"run_seconds\": %.3f, "
                  "\"host_seconds\": %.3f, \"device_seconds\": %.3f",
                  size_t(passed_), size_t(failed_), size_t(errors_), load_seconds_.load(), run_seconds_.load(),
                  host_seconds_.load(), backend_.device_seconds);
    say(std::string("{\"summary\": {") + numbers + ", \"via\": " + quoted(options_.via) +
        ", \"device\": " + quoted(backend_.about()) +
        (stopped.empty() ? "" : ", \"stopped\": " + quoted(stopped)) + "}}");
    for (const std::string& line : faults_) std::fprintf(stderr, "%s\n", line.c_str());
    const size_t bad = failed_ + errors_;
    if (bad > faults_.size()) std::fprintf(stderr, "... and %zu more\n", bad - faults_.size());
    std::fprintf(stderr, "%zu cases: %zu passed, %zu failed, %zu errors; via %s, %s\n", passed_ + bad, size_t(passed_),
                 size_t(failed_), size_t(errors_), options_.via.c_str(), backend_.about().c_str());
  }

  // The first cases that did not pass are told in words too.
  void fault(const std::string& line) {
    std::lock_guard<std::mutex> lock(output_);
    if (faults_.size() < 5) faults_.push_back(line);
  }

  void say(const std::string& line) {
    std::lock_guard<std::mutex> lock(output_);
    if (std::fprintf(out_, "%s\n", line.c_str()) < 0 || std::fflush(out_)) unwritten_ = errno;
  }

  static void add(std::atomic<double>& total, std::chrono::steady_clock::time_point began) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (double old = total; !total.compare_exchange_weak(old, old + spent);) {
    }
  }

  static constexpr uint64_t kGuard = 0xC5C5C5C5C5C5C5C5u;
  const Suite& suite_;
  Backend& backend_;
  const Options& options_;
  std::FILE* out_;
  int unwritten_ = 0;  // why a line could not be written
  std::mutex output_, device_, stopping_;
  std::vector<std::string> faults_;
  std::atomic<size_t> passed_{0}, failed_{0}, errors_{0};
  std::atomic<double> load_seconds_{0}, host_seconds_{0}, run_seconds_{0};
};

// The whole of a word as a number, not below the least.
double number(const std::string& option, const std::string& word, double least) {
  size_t end = 0;
  double value = 0;
  try {
    value = std::stod(word, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (word.empty() || end != word.size() || !(value >= least) || value > 1e9)
    throw Unable(option + " wants a number from " + std::to_string(long(least)) + " on, not " + word);
  return value;
}

Options parse(int count, char** words) {
  static const std::set<std::string> known{"--via", "--device", "--only", "--skip", "--out", "--jobs", "--batch", "--limit"};
  Options options;
  bool named = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word.rfind("-", 0) != 0 || word == "-") {
      if (named) throw Unable("one suite folder is run, not " + options.root + " and " + word);
      options.root = word;
      named = true;
      continue;
    }
    if (!known.count(word)) throw Unable("there is no option " + word + "; --help lists them");
    if (i + 1 == count) throw Unable(word + " wants a value");
    const std::string value = words[++i];
    if (word == "--via") options.via = value;
    else if (word == "--device") options.device = int(number(word, value, 0));
    else if (word == "--only") options.only = value;
    else if (word == "--skip") options.skip = value;
    else if (word == "--out") options.out = value;
    else if (word == "--jobs") options.jobs = unsigned(number(word, value, 0));
    else if (word == "--batch") options.batch = unsigned(number(word, value, 1));
    else options.limit = number(word, value, 0);
  }
  return options;
}

int start(int count, char** words) {
  for (int i = 1; i < count; ++i)
    if (std::string(words[i]) == "--help" || std::string(words[i]) == "-h") return std::fputs(kHelp, stdout) < 0 ? 2 : 0;
  const Options options = parse(count, words);
  Suite suite;
  try {
    suite = read_suite(options.root + "/suite.txt");
  } catch (const std::runtime_error& error) {
    throw Unable(error.what());
  }
  std::set<std::string> ids, only, skip;
  if (!options.only.empty()) only = lines_of(options.only);
  if (!options.skip.empty()) skip = lines_of(options.skip);
  for (const Kernel& kernel : suite.kernels)
    for (const Case& test : kernel.cases) ids.insert(test.id);
  for (const std::string& id : only)
    if (!ids.count(id)) throw Unable(options.only + " names the case " + id + ", which this suite does not have");
  std::vector<const Kernel*> kernels;
  for (Kernel& kernel : suite.kernels) {
    auto& cases = kernel.cases;
    cases.erase(std::remove_if(cases.begin(), cases.end(),
                               [&](const Case& test) {
                                 return (!options.only.empty() && !only.count(test.id)) || skip.count(test.id);
                               }),
                cases.end());
    if (!cases.empty()) kernels.push_back(&kernel);
  }
  if (kernels.empty()) throw Unable("no case is chosen");
  std::unique_ptr<Backend> backend;
  if (options.via == "stand-in") backend = std::make_unique<StandIn>();
  else if (options.via == "ptx" || options.via == "cubin")
    backend = std::make_unique<Driver>(options.device, options.via == "cubin", options.limit);
  else
    throw Unable("--via is ptx, cubin or stand-in, not " + options.via);
  return Run(suite, *backend, options).all(kernels);
}

}  // namespace

int main(int count, char** words) {
  try {
    return start(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return 2;
  }
}
