"""What may a register hold, and which threads execute a statement?

Read, in this order:
- `word_algebra.py` (the kinds of values that instructions are computed with), `opcode_kind.py` (what the
  words of an opcode say), `arithmetic.py` (each integer operation, said once), `bit_rules.py` (those on
  single bits), `real_arithmetic.py` (floating-point operations of one thread);
- `interval.py` and `interval_rules.py` (ranges, and results in ranges), `register_intervals.py` (the range
  of a register over all paths);
- `lane_numbers.py` (numbers of many threads at once), `block_threads.py` (what a thread reads of itself),
  `thread_value.py` and `register_threads.py` (what the threads of a block hold in a register);
- `launch_answers.py` (what a block learns of the launch of another cluster);
- `divergence.py` (.aligned instructions that not all threads execute), `reaching_threads.py` (which threads
  may come to a statement).
"""
