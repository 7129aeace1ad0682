"""Which paths through a function can happen? The one place that knows conditions of paths.

Read, in this order:
- `path_question.py` (what is asked), `path_terms.py` and `path_values.py` (what a register holds on a
  path), `held_values.py` (what registers hold where a path begins amid a function), `path_slice.py` (which
  statements decide it), `related_terms.py` (which conditions have to do with each other);
- `path_search.py` (the search for a path that can happen), `path_numbers.py` (guesses that show that one
  can), `path_solver.py` (z3, where neither syntax nor a guess settles it);
- `uniform_registers.py` (what all threads of a block hold alike), `parted_ways.py` (whether threads that a
  branch parts go on without each other).
"""
