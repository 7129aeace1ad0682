"""Are accesses of shared memory fenced for the async proxy? Is tensor memory deallocated?

Read, in this order:
- `byte_regions.py` (which bytes a statement may access), `matrices.py` (which bytes a product reads),
  `shared_memory.py` (all accesses of a function), `proxy_dataflow.py` (which writes no proxy fence has
  followed), `proxy_paths.py` (whether a path from a write to a product can happen), `proxy_findings.py`
  (findings);
- `unwaited_stores.py` (bulk stores that a kernel does not wait for before it ends);
- `tensor_places.py` (lanes and columns that a statement accesses), `allocations.py` (what a kernel
  deallocates).
"""
