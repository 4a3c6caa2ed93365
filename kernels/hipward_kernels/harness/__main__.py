"""Command line of the harness: `python -m hipward_kernels.harness FILE` prints the lines of a job on standard output.

Output of the snippet goes to standard error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from hipward_kernels.harness.worker import leave, prepare


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.harness",
        description="Checks and times a snippet, without a runner and without isolation.",
    )
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--variants", help="comma-separated variants (default: all)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, … (ROCm devices are cuda:N)")
    parser.add_argument("--time-cap", type=float, default=15.0, help="most seconds of sampling for a variant")
    options = parser.parse_args()
    try:
        code = options.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"{options.file}: {error}")

    directory = Path(tempfile.mkdtemp(prefix="hipward-"))
    os.chdir(directory)
    prepare()
    # Imported after `prepare`, which sets environment variables that PyTorch reads.
    from hipward_kernels.harness import job  # noqa: PLC0415
    from hipward_kernels.harness.lines import Lines  # noqa: PLC0415
    from hipward_kernels.harness.variants import VARIANTS, parse_variants  # noqa: PLC0415

    try:
        variants = parse_variants(options.variants.split(",") if options.variants else VARIANTS)
    except ValueError as error:
        parser.error(str(error))
    lines = Lines(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requested = job.Job(code, variants, options.device, options.time_cap)
    job.run(requested, lines, directory, job.clean_process_for(requested))
    shutil.rmtree(directory, ignore_errors=True)
    leave()


if __name__ == "__main__":
    main()
