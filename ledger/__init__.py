"""Which claim has which witness? Recorded observations, and the verdicts recomputed from them.

- claims: a claim's hash, from everything it depends on; records: the files of evidence/;
- solver_record, assembler_record, universe_record, silicon_record: the observations of each witness;
- verdicts stand beside the record in the first three, and in silicon_verdicts, measured_points for devices;
- asked_names: who was asked about what, for short answers;
- strided_places: formulas of matrices in memory; chips: where several devices showed the same;
- device_observations: measure a device; survivors: wrong maps held against its measurements;
- register_questions: what the register holds about peers;
- contradictions, contradiction_file, pointed, covered_points, compound_points, listed: the register of
  contradictions, and what its entries explain, alone and together;
- register_statements, register_observation, register_record: the statements that show its points, how
  assemblers are asked about them, and what they did;
- asked_settings, shown_points, register_faults: where the register differs from that;
- wheel_record: the wheels that carry assemblers, as they were measured;
- peer_record, peer_verdicts: what other codebases compute, held against layouts and descriptors;
  independent: who beside the text says the same of each, and what rests on one witness;
- witnesses: everything about one claim, together.
"""
