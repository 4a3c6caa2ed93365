"""Settings of all tests."""

import os

# Read when PyTorch is imported. The tensors are small, and threads that wait for each other on a busy host take more
# time than they save: the tests of the emulator use 2.5 times as much processor time with two.
os.environ.setdefault("OMP_NUM_THREADS", "1")
