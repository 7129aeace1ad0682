"""Where does a GPU keep each element? Probes that know no layout.

- probe_bench: a raw kernel prepared for probing; products: from meetings of elements to rows, columns and k;
- fragment_probe, metadata_probe, address_probe, matrix_probe, arithmetic_probe: one question each;
- measurements: the list of everything that is measured.
"""
