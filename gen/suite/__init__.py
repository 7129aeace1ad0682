"""Which cases does a conformance suite have, and what is the exact result of each?

cases lists them, reference computes D exactly, files writes the suite; kernels come from gen/kernels.
host/ and cuda/ hold the C++ that is copied into every suite.
"""
