// Exact reference values: integers times powers of two, to and from bit patterns, with no rounding but the one
// that is asked for.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace exact {

using Wide = __int128;
using Magnitude = unsigned __int128;

// An element type: `bits` wide; floats have exponent, fraction and bias, integers a sign or none.
struct Type {
  std::string name;
  enum Kind { FLOAT, SIGNED, UNSIGNED } kind = UNSIGNED;
  unsigned bits = 32, exponent = 0, fraction = 0, ignored = 0;
  int bias = 0;
  bool sign = true, subnormals = true;
  enum Specials { IEEE, NAN_ONLY, NONE } specials = NONE;
};

enum Rounding { EXACT, NEAREST, ZERO, DOWN, UP };

inline uint64_t mask(unsigned bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

inline unsigned length(Magnitude value) {
  unsigned bits = 0;
  for (; value; value >>= 1) ++bits;
  return bits;
}

// value * 2^exponent as a bit pattern of an integer type; the low bits of the sum where `wraps`, the nearest
// end of the range where not.
inline uint64_t encode_integer(Wide value, const Type& type, bool wraps) {
  if (!wraps) {
    const Wide high = (Wide(1) << (type.bits - (type.kind == Type::SIGNED))) - 1;
    const Wide low = type.kind == Type::SIGNED ? -high - 1 : 0;
    value = value < low ? low : value > high ? high : value;
  }
  return uint64_t(value) & mask(type.bits);
}

// value * 2^exponent as a bit pattern of a float type, rounded as asked. Throws where it is not exact and no
// rounding was asked for, or out of range.
inline uint64_t encode_float(Wide value, int exponent, const Type& type, Rounding rounding) {
  const bool negative = value < 0;
  Magnitude magnitude = negative ? -Magnitude(value) : Magnitude(value);
  const uint64_t sign = negative && type.sign ? uint64_t(1) << (type.exponent + type.fraction) : 0;
  if (negative && !type.sign) throw std::range_error("a negative value of an unsigned type");
  if (!magnitude) {
    if (!type.subnormals) throw std::range_error("zero in a type that has none");
    return 0;
  }
  const int least = int(type.subnormals) - type.bias;  // the least exponent of a normal number
  int top = int(length(magnitude)) - 1 + exponent;
  int quantum = (top < least ? least : top) - int(type.fraction);
  if (exponent >= quantum) {
    magnitude <<= exponent - quantum;
  } else {
    const int down = quantum - exponent;
    const Magnitude rest = down >= 128 ? magnitude : magnitude & ((Magnitude(1) << down) - 1);
    const Magnitude half = down > 128 ? 0 : Magnitude(1) << (down - 1);
    magnitude = down >= 128 ? 0 : magnitude >> down;
    if (rest) {
      bool up = false;
      switch (rounding) {
        case EXACT: throw std::range_error("the reference is not exact in " + type.name);
        case NEAREST: up = half && (rest > half || (rest == half && (magnitude & 1))); break;
        case ZERO: break;
        case DOWN: up = negative; break;
        case UP: up = !negative; break;
      }
      magnitude += up;
      if (magnitude >> (type.fraction + 1)) {
        magnitude >>= 1;
        ++quantum;
      }
    }
  }
  const bool normal = magnitude >> type.fraction;
  if (!normal && !type.subnormals) throw std::range_error("a subnormal of a type that has none");
  const int biased = normal ? quantum + int(type.fraction) + type.bias : 0;
  const int codes = 1 << type.exponent;
  const uint64_t fraction = uint64_t(magnitude) & mask(type.fraction);
  const bool special = type.specials == Type::IEEE       ? biased >= codes - 1
                       : type.specials == Type::NAN_ONLY ? biased >= codes - 1 && fraction == mask(type.fraction)
                                                         : false;
  if (biased >= codes || special) throw std::range_error("the reference is out of range of " + type.name);
  return (sign | (uint64_t(biased) << type.fraction) | fraction) << type.ignored;
}

inline uint64_t encode(Wide value, int exponent, const Type& type, Rounding rounding = EXACT, bool wraps = false) {
  if (type.kind == Type::FLOAT) return encode_float(value, exponent, type, rounding);
  const uint64_t pattern = encode_integer(value, type, true);
  if (!wraps && encode_integer(value, type, false) != pattern) throw std::range_error("out of range of " + type.name);
  if (exponent) throw std::range_error("an integer with an exponent");
  return pattern;
}

}  // namespace exact
