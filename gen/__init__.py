"""What is emitted? Pictures, sparse matrices, kernels, conformance suites, litmus tests as PTX."""
