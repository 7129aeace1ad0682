"""Who would notice a slip in the YAML? `corpus` has the slips, `trial` judges one, `witnesses` asks each
witness, `table` counts.
"""
