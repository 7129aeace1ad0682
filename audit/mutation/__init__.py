"""Who would notice a slip in the YAML?

`corpus` has the slips, `concerned` says which witnesses a file can concern, `trial` judges one slip,
`witnesses` asks each witness, `table` counts, `recorded` keeps the table of a full run. `reading` judges a
slip in the register, `forks` runs many.
"""
