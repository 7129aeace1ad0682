// The suite as suite.txt tells it: element types, kernels, cases.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "exact.h"

struct Matrix {
  char name = 0;
  unsigned rows = 0, cols = 0, products = 1;
  const exact::Type* type = nullptr;
  unsigned width = 0;  // bits of an element in its 32-bit (64-bit) word
  unsigned extra = 0;  // elements behind the matrix that must be 0
  size_t elements() const { return size_t(rows) * cols * products; }
  size_t count() const { return elements() + extra; }
  size_t size() const { return width > 32 ? 8 : 4; }
};

struct Draw {
  int64_t low = 0, high = 0;
  int exponent = 0;
};

struct Case {
  std::string id;
  uint64_t seed = 0;
  std::string plan;
  Draw a, b, c, scale;
  int nonzero = -1;     // elements of a row of A that are drawn; all where negative
  unsigned garbage = 0;  // low bits of A and B that are random
  bool scaled = false;
  std::vector<uint32_t> config;
};

struct Code {
  uint32_t code;
  std::vector<unsigned> positions;
};

struct Kernel {
  std::string name, module, operation, layout;
  unsigned threads = 0;
  int negate_a = 1, negate_b = 1;
  bool satfinite = false;
  exact::Rounding rounding = exact::EXACT;
  std::map<char, Matrix> matrices;
  // The words behind pointer `meta`: how many, and where garbage and scale factors begin (-1: there are none).
  unsigned meta_words = 0;
  int garbage = -1, scale_a = -1, scale_b = -1;
  unsigned scales = 0;
  const exact::Type* scale_type = nullptr;
  unsigned chunk = 0, slots = 0;
  std::vector<Code> codes;
  std::vector<Case> cases;
  bool has(char matrix) const { return matrices.count(matrix) != 0; }
};

struct Suite {
  std::map<std::string, std::unique_ptr<exact::Type>> types;
  std::map<std::string, size_t> config;  // where each configuration word is
  unsigned guard = 0;
  std::vector<Kernel> kernels;
};

inline exact::Rounding rounding_of(const std::string& word) {
  if (word == "rn") return exact::NEAREST;
  if (word == "rz") return exact::ZERO;
  if (word == "rm") return exact::DOWN;
  if (word == "rp") return exact::UP;
  return exact::EXACT;
}

inline Suite read_suite(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  Suite suite;
  std::string line;
  size_t number = 0, cases = 0, expected = 0;
  bool ended = false;
  while (std::getline(file, line)) {
    ++number;
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what.empty() || what[0] == '#') continue;
    if (what == "type") {
      auto type = std::make_unique<exact::Type>();
      std::string kind, specials;
      words >> type->name >> kind >> type->bits;
      if (kind == "float") {
        words >> type->exponent >> type->fraction >> type->bias >> specials >> type->sign >> type->subnormals >>
            type->ignored;
        type->kind = exact::Type::FLOAT;
        type->specials = specials == "ieee"  ? exact::Type::IEEE
                         : specials == "nan" ? exact::Type::NAN_ONLY
                                             : exact::Type::NONE;
      } else {
        type->kind = kind == "signed" ? exact::Type::SIGNED : exact::Type::UNSIGNED;
      }
      const std::string name = type->name;
      suite.types[name] = std::move(type);
    } else if (what == "config") {
      std::string name;
      for (size_t place = 0; words >> name; ++place) suite.config[name] = place;
      words.clear();
    } else if (what == "guard") {
      words >> suite.guard;
    } else if (what == "kernel") {
      Kernel kernel;
      std::string rounding;
      words >> kernel.name >> kernel.module >> kernel.threads >> kernel.operation >> kernel.negate_a >>
          kernel.negate_b >> kernel.satfinite >> rounding >> kernel.layout;
      kernel.rounding = rounding_of(rounding);
      suite.kernels.push_back(std::move(kernel));
    } else if (what == "end") {
      words >> expected;
      ended = true;
    } else if (suite.kernels.empty()) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": there is no kernel yet");
    } else if (what == "matrix") {
      Matrix matrix;
      std::string type;
      words >> matrix.name >> matrix.rows >> matrix.cols >> matrix.products >> type >> matrix.width >> matrix.extra;
      if (!suite.types.count(type)) throw std::runtime_error("there is no type " + type);
      matrix.type = suite.types.at(type).get();
      suite.kernels.back().matrices[matrix.name] = matrix;
    } else if (what == "meta") {
      Kernel& kernel = suite.kernels.back();
      words >> kernel.meta_words >> kernel.garbage;
    } else if (what == "scales") {
      Kernel& kernel = suite.kernels.back();
      std::string type;
      words >> kernel.scale_a >> kernel.scale_b >> kernel.scales >> type;
      if (!suite.types.count(type)) throw std::runtime_error("there is no type " + type);
      kernel.scale_type = suite.types.at(type).get();
    } else if (what == "sparse") {
      Kernel& kernel = suite.kernels.back();
      words >> kernel.chunk >> kernel.slots;
      Code code;
      while (words >> code.code) {
        code.positions.resize(kernel.slots);
        for (unsigned& position : code.positions) words >> position;
        kernel.codes.push_back(code);
      }
      words.clear();
    } else if (what == "case") {
      Case test;
      words >> test.id >> test.seed >> test.plan;
      for (Draw* draw : {&test.a, &test.b, &test.c}) words >> draw->low >> draw->high >> draw->exponent;
      words >> test.nonzero >> test.garbage >> test.scaled;
      if (test.scaled) words >> test.scale.low >> test.scale.high >> test.scale.exponent;
      test.config.resize(suite.config.size());
      for (uint32_t& word : test.config) words >> word;
      suite.kernels.back().cases.push_back(std::move(test));
      ++cases;
    } else {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": unknown line " + what);
    }
    if (words.fail()) throw std::runtime_error(path + ":" + std::to_string(number) + ": a word is missing");
  }
  if (!ended) throw std::runtime_error(path + " is cut off: the line `end` is missing");
  if (cases != expected)
    throw std::runtime_error(path + " has " + std::to_string(cases) + " of " + std::to_string(expected) + " cases");
  return suite;
}
