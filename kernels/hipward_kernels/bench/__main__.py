"""Benchmark of this package's ops: `python -m hipward_kernels.bench --device cuda`. See `ops`."""

from hipward_kernels.bench.ops import main

if __name__ == "__main__":
    main()
