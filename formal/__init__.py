"""Is the specification consistent? Theorems, proofs, and what tests the theorems.

- theorem, catalogue: what a theorem is, and the list of all; theorems/: one module a subject;
- smt: questions as SMT-LIB text, and two solvers; prove: everything asked, in parallel;
- plans: inputs with one possible result; consumers: what notices a wrong clause;
- ordering: two models of the ordering rules; mutation: would the theorems notice a slip?
"""
