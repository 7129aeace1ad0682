"""Both models as formulas about one symbolic program.

Read, in this order: `program.py` (the program), `axioms.py`, `machine.py` and `overtaking.py` (the models),
`questions.py` and `induction.py` (what a solver is asked, at once or in stages), `rules.py` and
`rule_questions.py` (each rule by its name).
"""
