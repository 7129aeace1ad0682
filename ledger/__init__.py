"""Which claim has which witness? Recorded observations, and the verdicts recomputed from them.

- claims: a claim's hash, from everything it depends on; records: the files of evidence/;
- solver_record, assembler_record, universe_record, silicon_record: the observations of each witness;
- verdicts stand beside the record in the first three, and in silicon_verdicts, measured_points for devices;
- strided_places: formulas of matrices in memory; chips: where several devices showed the same;
- device_observations: measure a device; survivors: wrong maps held against its measurements;
- contradictions, contradiction_file, covered_points, listed: the register of contradictions;
- register_statements, register_observation, register_record, register_faults: the statements that show its
  points, how assemblers are asked about them, what they did, and where the register differs from that;
- witnesses: everything about one claim, together.
"""
