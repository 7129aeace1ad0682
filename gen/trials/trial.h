/* Fill the registers and the shared memory of raw kernels with drawn inputs; compare what came with the model.

   An operand lies in the words that a thread loads (FIRST_x the first, REGISTERS_x how many), or in memory for matrices:
   then REGISTERS_x is 0, FIRST_x the first byte and WORDS_x how many words it has there. of_x gives, for every place
   of an operand, line << 16 | number along the line, and at_x the place of an element. A line is a row of A, C and D,
   or a column of B; the products that a warp computes at once have their lines one after another. */

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define EACH(i, count) \
  for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < (count); i += gridDim.x * (word64)blockDim.x)
#define ADDED(at, by) atomicAdd((at), (by))
#else
#define KERNEL void
#define EACH(i, count) for (word64 i = 0; i < (count); i++)
static word64 added(word64 *at, word64 by) { word64 old = *at; *at += by; return old; }
#define ADDED(at, by) added((at), (by))
#endif
typedef unsigned int word32;

typedef struct { /* how many were compared, and differed, by distribution; then the first that differed */
  word64 compared[DISTRIBUTIONS], different[DISTRIBUTIONS], kept;
} Counts;
typedef struct {
  word64 tile, row, column, c, got, expected, a[COUNT], b[COUNT];
} Difference;

FUNCTION int code_number(const Tile *t) { return (int)(drawn(t->key, 98, 0) % VALID); }

/* A stored element that meets column k of a chunked B, or a part of it; or -1. */
FUNCTION int met(const unsigned short *columns, int code, int k) {
  for (int i = 0; i < COUNT * PIECES; i++)
    if (columns[code * COUNT * PIECES + i] / PIECES == k) return i / PIECES;
  return -1;
}
FUNCTION word64 placed(const Sums *s, const Tile *t, int part, word32 at, const unsigned short *columns, int code) {
  int line = at >> 16, k = at & 0xffff;
  if (part == 0) return element(s, t, 0, line, k);
  if (part == 2) return addend_of(s, t, line * WIDTH + k);
  if (SPARSE) {
    k = met(columns, code, k);
    if (k < 0) return any_bits(&s->b, drawn(t->key, 3000 + line, at & 0xffff));
  }
  return element(s, t, 1, line, k);
}

/* Word `at` of an operand. */
FUNCTION word32 packed(const Sums *s, const Tile *t, int part, int bits, const word32 *table, word64 at,
                       const unsigned short *columns, int code) {
  word32 word = 0;
  if (bits == 64) return (word32)(placed(s, t, part, table[at / 2], columns, code) >> 32 * (at & 1));
  for (int i = 0; i < 32 / bits; i++)
    word |= (word32)placed(s, t, part, table[at * (32 / bits) + i], columns, code) << i * bits % 32;
  return word;
}

KERNEL fill(word32 *inputs, word32 *images, word32 *config, const Sums *s, const word32 *of_a, const word32 *of_b,
            const word32 *of_c, const unsigned short *columns, const word32 *metadata, const word32 *base,
            word64 seed, word64 first, word64 jobs) {
  EACH(i, jobs * (THREADS * WORDS + IMAGE + CONFIG)) {
    word64 job = i / (THREADS * WORDS + IMAGE + CONFIG), at = i % (THREADS * WORDS + IMAGE + CONFIG);
    Tile t = tile_of(s, seed, first + job);
    int code = code_number(&t);
    if (at < THREADS * WORDS) {
      word64 thread = at / WORDS, word = at % WORDS;
      word32 value = SPARSE ? metadata[code] : 0;
      if (REGISTERS_A && word - FIRST_A < REGISTERS_A)
        value = packed(s, &t, 0, BITS_A, of_a, thread * REGISTERS_A + word - FIRST_A, columns, code);
      else if (REGISTERS_B && word - FIRST_B < REGISTERS_B)
        value = packed(s, &t, 1, BITS_B, of_b, thread * REGISTERS_B + word - FIRST_B, columns, code);
      else if (word - FIRST_C < REGISTERS_C)
        value = packed(s, &t, 2, BITS_C, of_c, thread * REGISTERS_C + word - FIRST_C, columns, code);
      inputs[job * (THREADS * WORDS) + at] = value;
    } else if (at < THREADS * WORDS + IMAGE) {
      word64 word = at - THREADS * WORDS;
      word32 value = 0;
      if (!REGISTERS_A && word - FIRST_A / 4 < WORDS_A)
        value = packed(s, &t, 0, BITS_A, of_a, word - FIRST_A / 4, columns, code);
      else if (!REGISTERS_B && word - FIRST_B / 4 < WORDS_B)
        value = packed(s, &t, 1, BITS_B, of_b, word - FIRST_B / 4, columns, code);
      else if (!REGISTERS_C && word - FIRST_C / 4 < WORDS_C)
        value = packed(s, &t, 2, BITS_C, of_c, word - FIRST_C / 4, columns, code);
      images[job * IMAGE + word] = value;
    } else {
      word64 word = at - THREADS * WORDS - IMAGE;
      config[job * CONFIG + word] = (base[word] & 0x80000000u) ? (word32)job : base[word];
    }
  }
}

/* The element at a place of an operand. */
FUNCTION word64 found(const word32 *inputs, const word32 *image, int first, int registers, int words, int bits,
                      word32 place) {
  word64 word = bits == 64 ? 2ull * place : (word64)place * bits / 32;
  const word32 *at = registers ? inputs + word / registers * words + first + word % registers
                               : image + first / 4 + word;
  if (bits == 64) return at[0] | (word64)at[1] << 32;
  return at[0] >> (place * bits) % 32 & ones(bits);
}

KERNEL compare(const word32 *inputs, const word32 *images, const word32 *outputs, const Sums *s,
               const word32 *at_a, const word32 *at_b, const word32 *at_c, const word32 *at_d,
               const unsigned short *columns, Counts *counts, Difference *differences, word64 seed, word64 first,
               word64 jobs) {
  EACH(i, jobs * (ROWS * WIDTH)) {
    word64 job = i / (ROWS * WIDTH), at = i % (ROWS * WIDTH), got, expected, kept;
    word64 row = at / WIDTH, column = at % WIDTH, line = row / (ROWS / PRODUCTS) * WIDTH + column;
    Tile t = tile_of(s, seed, first + job);
    int code = code_number(&t);
    const word32 *mine = inputs + job * (THREADS * WORDS), *image = images + job * IMAGE;
    TYPE_A a[COUNT];
    TYPE_B b[COUNT];
    word64 c = found(mine, image, FIRST_C, REGISTERS_C, WORDS, BITS_C, at_c[at]);
    for (int k = 0; k < COUNT; k++) {
      a[k] = (TYPE_A)found(mine, image, FIRST_A, REGISTERS_A, WORDS, BITS_A, at_a[row * COUNT + k]);
      const unsigned short *parts = columns + (code * COUNT + k) * PIECES;
      b[k] = 0;
      for (int piece = 0; piece < PIECES; piece++) {
        word64 whole = found(mine, image, FIRST_B, REGISTERS_B, WORDS, BITS_B, at_b[line * DEPTH + parts[piece] / PIECES]);
        word64 part = whole >> parts[piece] % PIECES * (BITS_B / PIECES);
        b[k] |= (TYPE_B)((PIECES > 1 ? part & ones(BITS_B / PIECES) : part) << piece * (BITS_B / PIECES));
      }
    }
    got = found(outputs + job * (THREADS * RESULTS), 0, 0, RESULTS, RESULTS, BITS_D, at_d[at]);
    expected = (word64)sum_of_products(a, b, 0, 0, c);
    if (at == 0) ADDED(&counts->compared[t.distribution], ROWS * WIDTH);
    if (got == expected) continue;
    ADDED(&counts->different[t.distribution], 1);
    kept = ADDED(&counts->kept, 1);
    if (kept >= KEPT) continue;
    differences[kept].tile = first + job, differences[kept].row = row, differences[kept].column = column;
    differences[kept].c = c, differences[kept].got = got, differences[kept].expected = expected;
    for (int k = 0; k < COUNT; k++) differences[kept].a[k] = a[k], differences[kept].b[k] = b[k];
  }
}
