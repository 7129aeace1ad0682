"""What is emitted? Pictures, kernels, conformance suites, litmus tests as PTX."""
