"""Do barriers order what threads do? The threads of a block are executed together, with numbers.

Read `clocks.py` (what happens before what), `barriers.py` (mbarriers and named barriers as automata),
`thread_groups.py` (threads on one path), `byte_index.py` and `shared_accesses.py` (which pairs of accesses
nothing orders), `thread_bytes.py` (the bytes that threads access), `shared_words.py` and `unknown_bytes.py`
(numbers that threads hand on in shared memory), `warps.py` (what a warp has in flight), `barrier_acts.py`
(what a statement does to barriers), `warp_acts.py` (and to shared memory), `assumed_paths.py` (where threads
went by assumed numbers), `tile_loops.py` (numbers for a second tile), `stuck_waits.py` (waits that never
end), `helping_acts.py` (what may yet end them), `execution.py` (the threads, one step after another),
`block_sizes.py` (smaller blocks), `phase_findings.py` and `phase_reports.py` (what is reported, and how),
`guessed_blocks.py` (the same of blocks whose size the PTX does not say), `access_records.py`,
`generic_accesses.py`, `copy_accesses.py` and `generic_findings.py` (loads and stores of several warps, and
copies), `allocated_words.py`, `tensor_acts.py` and `tensor_findings.py` (accesses of tensor memory),
`peer_accesses.py` and `cluster_ends.py` (accesses of other blocks of the cluster). Registers are those of the
walks (`walks/registers.py`).
"""
