"""What does a statement say and do? It is decoded once, for every analysis.

Read, in this order:
- `plain_text.py` (the text without comments), `reader.py` (functions and statements), `unfinished.py` (one
  that lacks its end), `source.py` (what was read), `site.py` (a statement's place in its function);
- `operation.py` (what an opcode alone says), `operands.py` (operands as written, and by their names),
  `decode.py` (the typed value of a statement: what it reads, writes and orders);
- `flow.py` (blocks and edges), `literal_branches.py` (branches that a literal decides), `inlining.py`
  (called functions in the place of their calls);
- `dataflow.py` (the solver of all dataflow analyses), `reaching.py` (who wrote a register), `webs.py`
  (registers that are used again, renamed apart), `generic_addresses.py` (generic addresses of shared
  memory);
- `register_names.py` (names that do not depend on how a compiler counts).
"""
