"""Do barriers order what threads do? The threads of a block are executed together, with numbers.

Read, in this order:
- `clocks.py` (what happens before what), `barriers.py` (mbarriers and named barriers as automata),
  `thread_groups.py` (threads on one path), `warps.py` (what a warp has in flight);
- `act_operands.py` (what a statement's operands come to), `barrier_acts.py` (what it does to mbarriers),
  `phase_waits.py` (which phases were waited for), `meetings.py` and `lane_meetings.py` (where threads meet),
  `lone_waits.py` (what lanes know that have not waited), `warp_acts.py` (what it does to shared memory),
  `timed_accesses.py` (an access with its place in time), `byte_index.py` and `shared_accesses.py` (which
  pairs of accesses nothing orders), `thread_bytes.py` (the bytes that threads access),
  `shared_words.py`, `unknown_bytes.py`, `allocated_columns.py` and `allocated_words.py` (numbers that threads
  hand on in shared memory);
- `execution.py` (the threads, one step after another), `assumed_paths.py` and `deciding_numbers.py` (where
  threads went by assumed numbers, and by which), `tile_loops.py` (numbers for a second tile),
  `chosen_work.py` (numbers for other work), `small_sizes.py` (for less work), `alike_sizes.py` (numbers by
  which threads decide alike), `ring_lengths.py` (for rings that a host makes as long as it likes),
  `block_sizes.py` (smaller blocks), `box_sizes.py` and `loaded_boxes.py` (bytes of tensor copies);
- `stuck_waits.py` (waits that never end), `helping_acts.py` (what may yet end them), `shown_waits.py` (waits
  that others might end, with several numbers), `unshown.py` (why something is not known);
- `phase_executions.py` (which executions, and what they show), `outside_signals.py` (who else may arrive),
  `phase_findings.py` and `phase_reports.py` (what is reported, and how), `guessed_blocks.py` (the same of
  blocks whose size the PTX does not say), `same_faults.py` (what two executions have in common);
- `access_records.py`, `warp_accesses.py`, `generic_accesses.py`, `copy_accesses.py` and `generic_findings.py`
  (loads and stores of several warps, and copies), `warp_lanes.py` (those of one warp), `write_clashes.py`
  (what two warps write), `object_bytes.py` and `object_accesses.py` (accesses of an mbarrier's bytes),
  `group_products.py` (waits for products), `skipped_loops.py` (too little work),
  `misplaced_accesses.py` (where an access must begin), `unjudged_accesses.py` (what no execution judged);
- `tensor_acts.py`, `written_columns.py`, `operand_accesses.py` and `tensor_findings.py` (accesses of tensor
  memory, and what products read of shared memory);
- `peer_accesses.py`, `sent_acts.py` and `cluster_ends.py` (what is done to other blocks of the cluster),
  `outside_ranks.py` (blocks that there are not).

Registers are those of the walks (`walks/registers.py`).
"""
