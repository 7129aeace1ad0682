"""Is this order of accesses defined? Two models of the rules around wgmma (9.7.15.7), and why they agree.

Read in this order:
- programs, mma_shape: what both models speak about; notation: programs as text;
- relations, axioms: the axiomatic model; a program has hazards;
- machine_program, machine, schedules: the operational model; a program has one result, or several;
- machine_answers: what the machine answered already, shared by readings it cannot tell apart;
- verdicts: both models on one program; agreement: the theorem that they agree, on one program;
- alphabet: the steps of enumerated programs, and what one location sees of them;
- phases: barriers with phases, which have a language and two models of their own;
- rings: both models of phases about a ring of stages of any size, by induction;
- states: joint states of both models, for programs of every length; and the count of all short programs;
- symbolic: both models as formulas, for solvers;
- agreement_proof: the theorem, proven in three ways;
- synthesis, reached: litmus tests made from the axioms, and what litmus tests reach.

docs/architecture.md says who checks whom, docs/how-it-is-checked.md explains the theorem.
"""
