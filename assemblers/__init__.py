"""What does each release of ptxas accept? The specification against every assembler.

Read in this order:
- toolchains: the releases that are here; fetching: bringing them from PyPI;
- asking: one run of ptxas; outcomes, classification: what it did with each statement;
- universe, universe_points, neighbours: the statements that are asked about; universe_cache: kept on disk;
- assembler_settings, comparison: verdicts of both sides, point by point;
- gate_probes, machine_code, litmus_reactions: three further questions.
"""
