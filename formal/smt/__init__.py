"""How are solvers asked? Terms and expressions as SMT-LIB text, obligations, z3 and cvc5."""
