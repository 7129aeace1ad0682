"""Is a stage of shared memory overwritten, released, or read too early? Is a copy or a bulk store waited for?

Threads are walked with numbers. Read, in this order:
- `walk_steps.py` (the statements of a function as steps), `registers.py` (what a step does to registers),
  `parameters.py` and `shared_offsets.py` (the numbers that parameters are taken to have), `loops.py`,
  `walk_plan.py` (which statements count);
- `acts.py` (what one thread does to shared memory), `thread_walk.py` (the walk of some threads),
  `kernel_walks.py` (the walks of a function, made when first asked for);
- `stage_protocol.py` (which barriers guard a stage), `stage_conflicts.py` and `stages.py` (what is wrong
  there, as findings), `walk_paths.py` (whether the path between two accesses can happen);
- `proxy_replay.py` (whether a store and a matrix share bytes);
- `block_walk.py` (the walk of many threads), `block_accesses.py` and `block_races.py` (accesses that
  nothing orders), `block_findings.py` (findings), `stored_data.py` (where stored data come from);
- `endless_waits.py`, `inverted_waits.py` and `second_tries.py` (loops that wait for a phase),
  `memory_meetings.py` (threads that meet by what they read), `sure_comparisons.py` (comparisons that hold
  whatever a number is), `cluster_steps.py` (the blocks of a cluster, as one block).
"""
