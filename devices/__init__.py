"""What does a GPU compute? Suites and measurements on a device, or on a stand-in.

- raw_kernel: kernels without a layout; gpu: a GPU that runs them; stand_in: a model that does;
- probes: measurements that know no layout (ledger/device_observations.py runs them all and records them);
- suite_runs: conformance suites, which gen/suite writes.
"""
