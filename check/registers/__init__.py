"""Are accesses of registers ordered around wgmma, and around loads of tensor memory?

Read, in this order:
- `register_events.py` (what of a function matters), `register_dataflow.py` (what may be pending at each
  statement), `collisions.py` (findings), `register_paths.py` (whether a path to a collision can happen),
  `witness.py` (the models judge that path);
- `fetches.py` (registers that a load of tensor memory writes).
"""
