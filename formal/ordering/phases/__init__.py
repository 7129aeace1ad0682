"""Do barriers with phases order this program? Two more models, and why they agree (9.7.13).

Read in this order:
- phase_programs: what both models speak about, and its text;
- phase_partitions, phase_orders, histories: the axioms; what may be in which phase, and what that orders;
- phase_machine: the machine; pending counts, phase bits, bytes, and threads that wait;
- phase_agreement: both on one program, and the theorem that they agree;
- phase_enumeration: every small program up to symmetry, and random longer ones; phase_comparison: both models
  on all of them.

The models of the folder above know groups, fences and proxies, and no phases; these know phases, and no
proxies. tests/formal/test_phases_meet.py compares the two pairs on programs that both can say.
"""
