"""A ring of stages, for every number of stages, consumers, bytes and rounds: proven by induction (9.7.13.15).

Read in this order:
- ring: the protocol, and the slips that it can have;
- barrier_counts: one mbarrier, as the machine counts it and as the axioms do, whatever is done to it;
- ring_machine: the states of a ring and its moves; ring_invariant: what is true of every state;
- ring_history: the same ring as relations, without a state;
- ring_questions: what a solver is asked.

Both models of the folder `phases` judge single programs. Here are their rules again, as formulas.
"""
