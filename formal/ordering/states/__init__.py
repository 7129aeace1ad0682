"""Joint states: what both models know about one access of a location, step by step.

Read, in this order: `broken_rules.py` and `axiom_state.py` (the axioms' half), `machine_state.py` (the
machine's), `closure.py` (all joint states, and that the models agree in each), `classes.py` and
`enumeration.py` (how many short programs there are), `confirmation.py` (both models, run from every class).
"""
