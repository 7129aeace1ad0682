"""Both models as formulas about one symbolic program. `questions` says what a solver is asked."""
