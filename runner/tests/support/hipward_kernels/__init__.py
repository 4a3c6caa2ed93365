"""A stand-in for the measuring package, for tests of the runner: it needs no PyTorch, and runs a job's code as it is."""
