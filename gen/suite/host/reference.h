// Inputs of a case, drawn from its plan, and the D that they must give: exact integers in one unit.
#pragma once

#include <algorithm>
#include <numeric>

#include "suite.h"

// Numbers from a seed, the same everywhere (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return uint64_t((unsigned __int128)(bits()) * limit >> 64); }
  int64_t draw(const Draw& range) {
    const uint64_t values = uint64_t(range.high) - uint64_t(range.low) + 1;
    return values ? int64_t(uint64_t(range.low) + below(values)) : int64_t(bits());
  }

 private:
  uint64_t state_;
};

// The buffers of one job: one word an element, or one 64-bit word.
struct Job {
  std::vector<uint64_t> a, b, c, expected;
  std::vector<uint32_t> meta;
};

// How the numbers of a matrix become bit patterns, garbage in the ignored low bits included.
inline std::vector<uint64_t> patterns(const std::vector<int64_t>& values, int exponent, const Matrix& matrix,
                                      unsigned garbage, Random& random) {
  std::vector<uint64_t> coded(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    coded[i] = exact::encode(values[i], exponent, *matrix.type);
    if (garbage) coded[i] |= random.bits() & exact::mask(garbage);
  }
  return coded;
}

inline std::vector<int64_t> drawn(size_t count, const Draw& range, Random& random) {
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = random.draw(range);
  return values;
}

// Elements that are moved, not computed with: D holds what A holds, in D's width.
inline Job moved(const Kernel& kernel, const Case& test, uint32_t shared_bytes) {
  Job job;
  Random random(test.seed);
  const Matrix& a = kernel.matrices.at('a');
  const Matrix& d = kernel.matrices.at('d');
  for (size_t i = 0; i < a.count(); ++i) {
    const uint64_t bits = random.bits() & exact::mask(a.type->bits);
    const bool negative = a.type->kind == exact::Type::SIGNED && bits >> (a.type->bits - 1);
    job.a.push_back(bits);
    job.expected.push_back((negative ? bits | ~exact::mask(a.type->bits) : bits) & exact::mask(d.width));
  }
  if (kernel.has('b')) {  // where each row lies in shared memory: 16 bytes each, in any order
    const Matrix& b = kernel.matrices.at('b');
    std::vector<uint64_t> places(shared_bytes / 16);
    std::iota(places.begin(), places.end(), 0);
    for (size_t i = 0; i < b.count(); ++i) {
      std::swap(places[i], places[i + random.below(places.size() - i)]);
      job.b.push_back(16 * places[i]);
    }
  }
  job.expected.resize(d.count(), 0);  // words behind the matrix count what was overwritten: nothing
  job.meta.assign(kernel.meta_words, 0);
  return job;
}

inline Job product(const Kernel& kernel, const Case& test, bool keeps_c) {
  Job job;
  Random random(test.seed);
  const Matrix &a = kernel.matrices.at('a'), &b = kernel.matrices.at('b');
  const Matrix &c = kernel.matrices.at('c'), &d = kernel.matrices.at('d');
  std::vector<int64_t> va = drawn(a.count(), test.a, random), vb = drawn(b.count(), test.b, random);
  std::vector<int64_t> vc = drawn(c.count(), test.c, random);
  if (test.nonzero >= 0) {
    for (size_t row = 0; row < size_t(a.rows) * a.products; ++row) {
      std::vector<unsigned> order(a.cols);
      std::iota(order.begin(), order.end(), 0);
      for (unsigned i = 0; i < a.cols; ++i) {
        std::swap(order[i], order[i + random.below(a.cols - i)]);
        if (int(i) >= test.nonzero) va[row * a.cols + order[i]] = 0;
      }
    }
  }
  job.a = patterns(va, test.a.exponent, a, test.garbage, random);
  job.b = patterns(vb, test.b.exponent, b, test.garbage, random);
  if (keeps_c) {
    job.c = patterns(vc, test.c.exponent, c, 0, random);
  } else {  // every bit set: a NaN in every float type
    job.c.assign(c.count(), exact::mask(c.width));
    std::fill(vc.begin(), vc.end(), 0);
  }
  job.meta.resize(kernel.meta_words);
  for (uint32_t& word : job.meta) word = uint32_t(random.bits());

  // Which row of B each stored element of A meets.
  std::vector<unsigned> meets(size_t(a.rows) * a.cols);
  for (unsigned row = 0; row < a.rows; ++row) {
    for (unsigned col = 0; col < a.cols; ++col) {
      if (!kernel.slots) {
        meets[row * a.cols + col] = col;
      } else if (col % kernel.slots == 0) {
        const unsigned chunk = col / kernel.slots, chunks = a.cols / kernel.slots;
        const Code& code = kernel.codes[random.below(kernel.codes.size())];
        job.meta[row * chunks + chunk] = code.code;
        for (unsigned slot = 0; slot < kernel.slots; ++slot)
          meets[row * a.cols + col + slot] = chunk * kernel.chunk + code.positions[slot];
      }
    }
  }
  std::vector<int64_t> sa, sb;  // scale factors, (row, chunk of K) and (chunk of K, column)
  int scaling = 0;
  if (kernel.scale_type) {
    scaling = 2 * test.scale.exponent;
    sa = drawn(size_t(a.rows) * kernel.scales, test.scale, random);
    sb = drawn(size_t(kernel.scales) * b.cols, test.scale, random);
    for (size_t i = 0; i < sa.size(); ++i)
      job.meta[kernel.scale_a + i] = uint32_t(exact::encode(sa[i], test.scale.exponent, *kernel.scale_type));
    for (size_t i = 0; i < sb.size(); ++i)
      job.meta[kernel.scale_b + i] = uint32_t(exact::encode(sb[i], test.scale.exponent, *kernel.scale_type));
  }

  const int exponent = test.a.exponent + test.b.exponent + scaling;
  const int unit = keeps_c ? std::min(exponent, test.c.exponent) : exponent;
  const int sign = kernel.negate_a * kernel.negate_b;
  const bool integer = d.type->kind != exact::Type::FLOAT;
  std::vector<exact::Wide> sums(d.cols);
  for (unsigned product = 0; product < d.products; ++product) {
    const int64_t* pa = va.data() + size_t(product) * a.rows * a.cols;
    const int64_t* pb = vb.data() + size_t(product) * b.rows * b.cols;
    for (unsigned row = 0; row < d.rows; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      for (unsigned col = 0; col < a.cols; ++col) {
        const unsigned k = meets[row * a.cols + col];
        const int64_t x = pa[row * a.cols + col];
        const unsigned chunk = kernel.scales ? k * kernel.scales / b.rows : 0;
        for (unsigned n = 0; n < d.cols; ++n) {
          const int64_t y = pb[size_t(k) * b.cols + n];
          exact::Wide term = kernel.operation == "xor"   ? exact::Wide(x ^ y)
                             : kernel.operation == "and" ? exact::Wide(x & y)
                                                         : exact::Wide(x) * y;
          if (kernel.scales) term *= sa[row * kernel.scales + chunk] * sb[size_t(chunk) * b.cols + n];
          sums[n] += term;
        }
      }
      for (unsigned n = 0; n < d.cols; ++n) {
        const size_t index = (size_t(product) * d.rows + row) * d.cols + n;
        exact::Wide sum = sums[n] * sign * (exact::Wide(1) << (exponent - unit));
        if (keeps_c) sum += exact::Wide(vc[index]) * (exact::Wide(1) << (test.c.exponent - unit));
        job.expected.push_back(integer ? exact::encode_integer(sum, *d.type, !kernel.satfinite)
                                       : exact::encode(sum, unit, *d.type, kernel.rounding));
      }
    }
  }
  return job;
}

inline Job job_of(const Suite& suite, const Kernel& kernel, const Case& test) {
  if (kernel.operation == "move") return moved(kernel, test, test.config.at(suite.config.at("shared-bytes")));
  return product(kernel, test, test.config.at(suite.config.at("scale-d")) != 0);
}
