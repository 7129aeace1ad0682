"""Is this PTX file right? `ptxmma check`.

check_file runs every analysis on every function, and order those about the order of accesses: start there.
Then, folder by folder:
- ptx: a file is read once (reader, source) and each statement decoded once (decode, operation, operands);
  registers that are used again are renamed apart (webs);
- values: what a register may hold, and which threads execute a statement;
- paths: which paths can happen; where an analysis suspects a collision, a path to it is searched;
- registers, memory: accesses of registers and of shared memory, as dataflow (witness replays a path), and
  what is allocated of tensor memory;
- walks: threads walked with numbers, for stages of shared memory (stages), for missing proxy fences
  (proxy_replay), and for what copies and bulk stores access (block_findings);
- execution: all threads executed together with numbers, for barriers with phases;
- operands: constants, multiples, uniformity, opaque fragments, qualifiers of a whole kernel;
- cuda: the inline assembly of CUDA C++ sources, which check_source checks;
- readings: under which readings of the text a program is undefined;
- undeclared, advice: names that a file does not declare, and what an assembler may change;
- findings, not_judged, rules (rules.yaml, rule_texts), grouping, suppression, baseline: what is reported;
- reports, sarif, rule_pages, kernel_names: how.

docs/add-a-rule.md says how to add a rule.
"""
