"""What does the PTX ISA say? The claims as YAML, and what reads them. Imports nothing else of ptxmma.

- index, model, *_records, switches: the typed model, a class for each YAML record; nodes: from YAML to it;
  plain: from it to plain values;
- loading, validation, *_checks: all files, checked; specification: the whole, with lookups; cache: kept
  between runs;
- expressions, maps: the expression language, and layouts as functions; gates, variants: who is legal where;
- statements, mnemonics, operand_rules, diagnosis, legality: is one statement legal, and why not?
- selection: variants by pattern, version and target; api: the questions that all folders ask;
- parts: operands by what they are to the operation; addresses, descriptor, sparse, patterns: matrices;
- effects: what other PTX instructions do; editions: section numbers; workers: processes, and Dask;
  collector: work during which nothing is collected.
"""
