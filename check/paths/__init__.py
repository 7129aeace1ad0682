"""Which paths through a function can happen? The one place that knows conditions of paths.

Read path_terms and path_values (what a register holds on a path), path_slice (which statements decide it),
path_search (a search for a path that can happen), path_numbers (guesses that show that one can), path_solver
(z3, where neither syntax nor a guess settles it).
"""
