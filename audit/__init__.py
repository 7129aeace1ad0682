"""What changed, between two PTX versions or between two states of the specification?

- version_differences: changes of gates between two versions; folding: many mnemonics as a few patterns;
  assembler_verdicts: what both versions' assemblers say;
- checkouts, specification_changes, layout_changes, leaves: what a change of the YAML means.
"""
