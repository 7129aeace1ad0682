"""Execute a kernel's threads together, with numbers, and find accesses that no barrier orders.

Read `clocks.py` (what happens before what), `barriers.py` (mbarriers and named barriers as automata),
`lane_values.py` and `thread_groups.py` (numbers of many threads at once), `shared_accesses.py` (which pairs
of accesses nothing orders), `execution.py` (the threads, one step after another), `phase_findings.py`.
"""
