// The instruction on the CPU: tiles gathered from the registers of all threads by the inverses of the formulas,
// multiplied exactly, and scattered again.
#pragma once

#include <cstring>
#include <vector>

#include "../host/exact.h"

namespace ptxmma {

// All threads of a block at the instruction.
template <typename Kernel>
struct Block {
  Job job;
  std::vector<typename Kernel::Registers> registers;
  typename Kernel::Registers& operator[](unsigned t) { return registers[t]; }
};

struct Tile {
  unsigned rows, cols, products;
  std::vector<uint64_t> elements;
  Tile(unsigned rows, unsigned cols, unsigned products = 1)
      : rows(rows), cols(cols), products(products), elements(size_t(rows) * cols * products) {}
  uint64_t& operator()(unsigned row, unsigned col, unsigned product = 0) {
    return elements[(size_t(product) * rows + row) * cols + col];
  }
};

struct Number {
  exact::Wide value = 0;
  int exponent = 0;
  bool special = false;
};

inline Number decode(uint64_t pattern, const exact::Type& type) {
  using exact::Type;
  if (type.kind != Type::FLOAT) {
    const bool negative = type.kind == Type::SIGNED && pattern >> (type.bits - 1) & 1;
    const uint64_t bits = pattern & exact::mask(type.bits);
    return {negative ? exact::Wide(bits) - (exact::Wide(1) << type.bits) : exact::Wide(bits), 0, false};
  }
  pattern >>= type.ignored;
  const uint64_t fraction = pattern & exact::mask(type.fraction);
  const int biased = int(pattern >> type.fraction & exact::mask(type.exponent));
  const bool negative = type.sign && pattern >> (type.fraction + type.exponent) & 1;
  const int top = (1 << type.exponent) - 1;
  const bool special = (type.specials == Type::IEEE && biased == top) ||
                       (type.specials == Type::NAN_ONLY && biased == top && fraction == exact::mask(type.fraction));
  const bool normal = biased || !type.subnormals;
  exact::Wide value = exact::Wide(fraction) + (normal ? exact::Wide(1) << type.fraction : 0);
  int exponent = (normal ? biased : 1) - type.bias - int(type.fraction);
  for (; value && !(value & 1); value >>= 1) ++exponent;  // short, so that sums of products fit
  return {negative ? -value : value, exponent, special};
}

// What an instruction computes, beside its tiles.
struct Product {
  const exact::Type &a, &b, &c, &d;
  enum Operation { MULTIPLY, XOR, AND } operation;
  int sign;
  bool satfinite;
  exact::Rounding rounding;
};

// Column k of A that packed element (row, col) stands for; the same where A is dense.
using Meets = std::vector<unsigned>;

inline uint64_t sum_of(const std::vector<Number>& terms, const Product& how) {
  int least = 0;
  bool any = false;
  for (const Number& term : terms) {
    if (term.special) return exact::mask(how.d.bits);
    if (term.value && (!any || term.exponent < least)) least = term.exponent, any = true;
  }
  exact::Wide sum = 0;
  for (const Number& term : terms)
    if (term.value) sum += term.value * (exact::Wide(1) << (term.exponent - least));
  if (how.d.kind != exact::Type::FLOAT) return exact::encode_integer(sum, how.d, !how.satfinite);
  try {
    return exact::encode_float(sum, least, how.d, how.rounding);
  } catch (const std::range_error&) {
    return exact::mask(how.d.bits);
  }
}

inline void multiply(Tile& a, Tile& b, Tile* c, Tile& d, const Product& how, const Meets& meets = {},
                     Tile* scale_a = nullptr, Tile* scale_b = nullptr, const exact::Type* scale = nullptr) {
  for (unsigned product = 0; product < d.products; ++product)
    for (unsigned row = 0; row < d.rows; ++row)
      for (unsigned col = 0; col < d.cols; ++col) {
        std::vector<Number> terms;
        if (c) terms.push_back(decode((*c)(row, col, product), how.c));
        for (unsigned packed = 0; packed < a.cols; ++packed) {
          const unsigned k = meets.empty() ? packed : meets[row * a.cols + packed];
          const Number x = decode(a(row, packed, product), how.a), y = decode(b(k, col, product), how.b);
          Number term{how.operation == Product::XOR   ? x.value ^ y.value
                      : how.operation == Product::AND ? x.value & y.value
                                                      : x.value * y.value * how.sign,
                      x.exponent + y.exponent, x.special || y.special};
          if (scale) {
            const unsigned chunk = k * scale_a->cols / b.rows;
            for (const Number& factor :
                 {decode((*scale_a)(row, chunk), *scale), decode((*scale_b)(chunk, col), *scale)}) {
              term.value *= factor.value;
              term.exponent += factor.exponent;
              term.special |= factor.special;
            }
          }
          terms.push_back(term);
        }
        d(row, col, product) = sum_of(terms, how);
      }
}

template <typename Kernel>
void run(const void* a, const void* b, const void* c, void* d, void* meta, const uint32_t* config, unsigned jobs,
         unsigned bytes) {
  for (unsigned number = 0; number < jobs; ++number) {
    Block<Kernel> block{job_of<Kernel>(a, b, c, d, meta, config, number), {}};
    std::vector<uint64_t> memory(bytes / 8 + (1 << 13), 0xA5A5A5A5A5A5A5A5u);
    block.job.shared = reinterpret_cast<unsigned char*>(memory.data());
    block.job.base = 1024;  // where shared memory begins on a device, and no pattern of a swizzle is cut
    block.registers.resize(Kernel::threads);
    for (unsigned t = 0; t < Kernel::threads; ++t) Kernel::fill(block.job, t);
    for (unsigned t = 0; t < Kernel::threads; ++t) Kernel::load(block.job, t, block[t]);
    Kernel::stand_in(block);
    for (unsigned t = 0; t < Kernel::threads; ++t) Kernel::store(block.job, t, block[t]);
    for (unsigned t = 0; t < Kernel::threads; ++t) Kernel::check(block.job, t);
  }
}

}  // namespace ptxmma

#define PTXMMA_ENTRY(name)                                                                                       \
  extern "C" void name##__stand_in(const void* a, const void* b, const void* c, void* d, void* meta,             \
                                   const uint32_t* config, unsigned jobs, unsigned bytes) {                      \
    ptxmma::run<kernels::name>(a, b, c, d, meta, config, jobs, bytes);                                           \
  }
