"""Entry point of `python -m hipward_kernels.bench`; see `ops`."""

from hipward_kernels.bench.ops import main

if __name__ == "__main__":
    main()
