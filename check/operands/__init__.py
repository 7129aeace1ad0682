"""Do operands have values that the text allows? Does a kernel spell alike what it must?

Each analysis stands for itself:
- `constants.py` (metadata, descriptors and small numbers with one value on every path), with
  `known_bits.py` (bits that are known where the others are not);
- `multiples.py` (addresses, sizes and counts that must be multiples of a number);
- `uniformity.py` (operands that must be the same in all threads, addresses of rows), with `parted_terms.py`
  (whether an operand surely differs between threads);
- `lane_masks.py` (masks that do not name the thread's own lane);
- `opaque_fragments.py` (wmma fragments, from load to store);
- `kernel_qualifiers.py` (qualifiers that all instructions of a kernel must share).
"""
