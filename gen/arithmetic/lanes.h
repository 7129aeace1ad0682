/* Words of 64 bits side by side, one for each of several jobs. A shift by 64 or more gives 0. */
#include <immintrin.h>
#define LANES 8
typedef word64 lanes __attribute__((vector_size(8 * LANES)));
typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef struct { lanes high, low; } pair;
#define ALL(value) ((lanes){} + (value))

FUNCTION lanes left(lanes value, lanes by) {
  return (lanes)_mm512_sllv_epi64((__m512i)value, (__m512i)by);
}
FUNCTION lanes right(lanes value, lanes by) {
  return (lanes)_mm512_srlv_epi64((__m512i)value, (__m512i)by);
}
FUNCTION lanes greater(lanes a, lanes b) {
  return (lanes)_mm512_max_epu64((__m512i)a, (__m512i)b);
}
FUNCTION lanes lesser(lanes a, lanes b) {
  return (lanes)_mm512_min_epu64((__m512i)a, (__m512i)b);
}
