/* Inputs for sums of products, drawn by number: the same seed and tile give the same elements on any machine.

   A value is a hash of (seed, tile, stream, number). The tile's number says which distribution it has, its hash
   says the rest: where the greatest product lies, how significands look, which products make pairs. */

typedef struct {
  int bits, exponent, fraction, bias, ignored, infinities, nans, is_signed;
} Type;

typedef struct {
  Type a, b, c, d;
  int count;                /* of products that an element of D has */
  int foci, focus[8];       /* distances from the greatest term at which a chip begins to cut */
} Sums;

typedef struct {
  word64 key;
  int distribution, top, shape, partner, small, same, jitter;
} Tile;

FUNCTION word64 mixed(word64 z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}
FUNCTION word64 drawn(word64 key, unsigned stream, unsigned number) {
  return mixed(key + (stream + 1ull) * 0x9E3779B97F4A7C15ull + number * 0xD1342543DE82EF95ull);
}
FUNCTION int is_float(const Type *t) { return t->exponent > 0; }
FUNCTION int least_exponent(const Type *t) { return 1 - t->bias; }
FUNCTION int greatest_exponent(const Type *t) { return (1 << t->exponent) - 1 - t->bias - t->infinities; }
FUNCTION word64 ones(int n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
FUNCTION word64 top_field(const Type *t) { return ones(t->exponent) << t->fraction; }

/* A number of a type: its sign, exponent and fraction, brought into the type's range. */
FUNCTION word64 number(const Type *t, int negative, int exponent, word64 fraction) {
  word64 code;
  fraction &= ones(t->fraction);
  if (exponent > greatest_exponent(t)) exponent = greatest_exponent(t);
  if (exponent < least_exponent(t)) {
    int by = least_exponent(t) - exponent;
    code = by > t->fraction ? 0 : (fraction | 1ull << t->fraction) >> by;
  } else {
    code = (word64)(exponent + t->bias) << t->fraction | fraction;
    if (t->nans && code == (top_field(t) | ones(t->fraction))) code--;
  }
  return (code | (word64)negative << (t->fraction + t->exponent)) << t->ignored;
}
FUNCTION word64 any_bits(const Type *t, word64 h) { return h & ones(t->bits); }
FUNCTION word64 finite_bits(const Type *t, word64 h) {
  word64 code = any_bits(t, h) >> t->ignored;
  if (t->infinities && (code & top_field(t)) == top_field(t)) code ^= 1ull << t->fraction;
  if (t->nans && (code & (top_field(t) | ones(t->fraction))) == (top_field(t) | ones(t->fraction))) code ^= 1;
  return code << t->ignored | (any_bits(t, h) & ones(t->ignored));
}
FUNCTION word64 signed_zero(const Type *t, word64 h) { return (h & 1) << (t->bits - 1); }
/* Half are zeros; some are NaN or infinite; the others are about 1. */
FUNCTION word64 special(const Type *t, word64 h) {
  unsigned which = (unsigned)(h >> 2) & 127;
  if (h & 2) return signed_zero(t, h);
  if (which == 0 && (t->infinities || t->nans))
    return signed_zero(t, h) | (top_field(t) | ones(t->fraction)) << t->ignored;
  if (which == 1 && t->infinities)
    return signed_zero(t, h) | (top_field(t) | 1ull << (h >> 9) % t->fraction) << t->ignored;
  if (which < 5 && t->infinities) return signed_zero(t, h) | top_field(t) << t->ignored;
  return number(t, h & 1, (int)((h >> 16) % 5) - 2, h >> 24);
}
/* Fractions as they come, of one bit at most, or of all bits but one. */
FUNCTION word64 fraction_of(const Type *t, word64 h, int shape) {
  word64 one = h & 1 ? 1ull << (h >> 1) % t->fraction : 0;
  return shape < 2 ? h : shape == 2 ? one : ~one;
}

FUNCTION Tile tile_of(const Sums *s, word64 seed, word64 number) {
  Tile t;
  word64 h;
  int low, high, least, pairs = 0;
  t.key = mixed(mixed(seed) + number * 0x9E3779B97F4A7C15ull);
  t.distribution = (int)(number % DISTRIBUTIONS);
  h = drawn(t.key, 99, 0);
  t.shape = h & 3;
  t.same = h >> 2 & 1;
  t.jitter = (h >> 3 & 7) == 0;
  t.small = h >> 6 & 3;
  t.top = 0;
  while (2 << pairs <= s->count) pairs++;
  t.partner = pairs ? 1 << (h >> 40) % pairs : 0;
  if (!is_float(&s->a)) return t;
  low = least_exponent(&s->a) + least_exponent(&s->b) - (t.small ? 0 : s->a.fraction);
  high = greatest_exponent(&s->a) + greatest_exponent(&s->b);
  least = low - s->a.fraction - s->b.fraction;
  if (high > greatest_exponent(&s->d) - 6) high = greatest_exponent(&s->d) - 6;
  if (low < least_exponent(&s->d) - 8) low = least_exponent(&s->d) - 8;
  t.top = low + (int)((h >> 8) % (word64)(high - low + 1));
  if ((h >> 46 & 3) == 0 && s->d.bits <= 32) { /* about the least exponents of D */
    t.top = least_exponent(&s->d) - 24 + (int)((h >> 8) % 44);
    if (t.top < least) t.top = least + (int)((h >> 8) % 8);
    if (t.top > high) t.top = high;
  }
  if (t.distribution == OVERFLOWING) {
    t.top = greatest_exponent(&s->a) + greatest_exponent(&s->b);
    if (t.top > greatest_exponent(&s->d)) t.top = greatest_exponent(&s->d);
    t.top += (int)((h >> 20) % 6) - 4;
  }
  return t;
}

/* A distance at which a chip begins to cut, or one near it. */
FUNCTION int focus_of(const Sums *s, word64 h) { return s->focus[(h >> 50) % (unsigned)s->foci]; }
FUNCTION int gap(const Sums *s, word64 h) {
  unsigned x = (unsigned)(h >> 3) & 0xffff;
  int f = focus_of(s, h);
  return (h & 7) < 2 ? (int)(x % 3) : (h & 7) < 6 ? f - 3 + (int)(x % 8) : (int)(x % (unsigned)(f + 8));
}
FUNCTION int first_of_pair(const Tile *t, int k) { return t->distribution == CANCELLING ? k & ~t->partner : k; }

/* How far product k lies below the greatest one, in powers of two. */
FUNCTION int product_gap(const Sums *s, const Tile *t, int k) {
  word64 h = drawn(t->key, 50, first_of_pair(t, k));
  unsigned x = (unsigned)(h >> 8) & 255;
  int f = focus_of(s, h);
  switch (t->distribution) {
    case GAPS: return gap(s, h);
    case CANCELLING: return first_of_pair(t, k) == 0 ? 0 : (int)(x % (unsigned)(f + 4));
    case FAR: return h & 3;
    case OVERFLOWING: return h % 3;
    case TIES:
      return (h & 3) == 0 ? 0 : (h & 3) == 1 ? s->d.fraction - 1 + (int)(x % 4)
           : (h & 3) == 2 ? f - 1 + (int)(x % 3) : (int)(x % (unsigned)(f + 3));
    default: return 0;
  }
}
FUNCTION int exponent_of(const Sums *s, const Tile *t, int k, int of_b) {
  int e = t->top - product_gap(s, t, k), low, high, a;
  int low_a = least_exponent(&s->a) - (t->small == 0 ? s->a.fraction : 0);
  int low_b = least_exponent(&s->b) - (t->small == 1 ? s->b.fraction : 0);
  low = e - greatest_exponent(&s->b) > low_a ? e - greatest_exponent(&s->b) : low_a;
  high = e - low_b < greatest_exponent(&s->a) ? e - low_b : greatest_exponent(&s->a);
  if (high < low) high = low;
  a = low + (int)(drawn(t->key, 51, first_of_pair(t, k)) % (word64)(high - low + 1));
  return of_b ? e - a : a;
}

/* The least or greatest integers, or any. */
FUNCTION word64 integer(const Type *t, const Tile *tile, word64 h, int of_b) {
  word64 greatest = t->is_signed ? ones(t->bits) >> 1 : ones(t->bits), least = t->is_signed ? greatest + 1 : 0;
  word64 edge = drawn(tile->key, 99, 0) >> of_b & 1 ? greatest : least;
  unsigned x = (unsigned)h & 7;
  switch (tile->distribution % 5) {
    case 1: return x < 3 ? greatest : x < 6 ? least : x == 6 ? 0 : ones(t->bits);
    case 3: return edge;
    case 4: return x < 6 ? edge : any_bits(t, h >> 8);
    default: return any_bits(t, h);
  }
}

/* Element k of a row of A or of a column of B. */
FUNCTION word64 element(const Sums *s, const Tile *t, int of_b, int line, int k) {
  const Type *type = of_b ? &s->b : &s->a;
  unsigned stream = 1000 + 2 * of_b + 4 * line;
  word64 h = drawn(t->key, stream, k), more, code;
  int negative, exponent;
  if (!is_float(type)) return integer(type, t, h, of_b);
  switch (t->distribution) {
    case ANY: return any_bits(type, h);
    case FINITE: return finite_bits(type, h);
    case SPECIAL: return special(type, h);
    case NARROW: return number(type, h & 1, (int)((h >> 1) % 5) - 2, fraction_of(type, h >> 8, t->shape));
    case SUBNORMAL:
      exponent = t->small == 3 || (t->small & 1) == of_b || h >> 60 == 0
        ? least_exponent(type) + 2 - (int)((h >> 1) % (unsigned)(type->fraction + 4))
        : least_exponent(&s->d) - least_exponent(type) < -8 ? (int)((h >> 1) % 24) - 12 : (int)((h >> 1) % 12) - 4;
      return number(type, h & 1, exponent, fraction_of(type, h >> 16, t->shape));
    default: break;
  }
  h = drawn(t->key, stream, first_of_pair(t, k));
  more = drawn(t->key, stream + 1, k);
  negative = h & 1;
  if (t->distribution == TIES && h & 6) return signed_zero(type, h);
  if (t->distribution == OVERFLOWING && t->same) negative = 0;
  code = fraction_of(type, h >> 8, t->shape);
  if (first_of_pair(t, k) != k) {
    if (!of_b) negative = !negative;
    if ((more & 15) == 0) code ^= 1;
  }
  exponent = exponent_of(s, t, k, of_b) + (t->jitter ? (int)((more >> 8) % 3) - 1 : 0);
  return number(type, negative, exponent, code) | (more >> 20 & ones(type->ignored));
}

/* What is added to the products: element `at` of C. */
FUNCTION word64 addend_of(const Sums *s, const Tile *t, int at) {
  const Type *type = &s->c;
  word64 h = drawn(t->key, 7, at), g = drawn(t->key, 8, at), fraction;
  int f = focus_of(s, g), exponent = 0, negative = h & 1;
  if (!is_float(type)) {
    word64 most = (word64)s->count << (s->a.bits + s->b.bits - 1), off = (h >> 8) % (2 * most + 1);
    if (t->distribution == ANY) return any_bits(type, h);
    return any_bits(type, h & 1 ? (ones(type->bits) >> 1) - off : (ones(type->bits) >> 1) + 1 + off);
  }
  fraction = fraction_of(type, h >> 8, t->shape);
  switch (t->distribution) {
    case ANY: return any_bits(type, h);
    case FINITE: return finite_bits(type, h);
    case SPECIAL: return special(type, h);
    case NARROW: exponent = (int)(g % 10) - 3; break;
    case GAPS: exponent = t->top - gap(s, g) + (g >> 40 & 3 ? 0 : f + 2); break;
    case CANCELLING:
      if ((g & 3) == 0) return signed_zero(type, h);
      exponent = t->top - (int)((g >> 2) % (unsigned)(f + 8));
      break;
    case SUBNORMAL: exponent = least_exponent(type) + 3 - (int)(g % (unsigned)(type->fraction + 6)); break;
    case OVERFLOWING:
      exponent = greatest_exponent(&s->d) - (int)(g % 4);
      if (t->same) negative = 0;
      if ((g >> 8 & 3) == 0) fraction = ~0ull;
      break;
    case FAR: {
      int x = (int)((g >> 8) % (unsigned)(2 * f + 13)) - f - 6, y = (int)((g >> 8) % 7) - 3;
      exponent = t->top + ((g & 3) == 0 ? x : (g & 3) == 1 ? f + y : (g & 3) == 2 ? y - f : x / 2);
      break;
    }
    default: exponent = t->top + (int)(g % 3) - 1; break;
  }
  return number(type, negative, exponent, fraction);
}
