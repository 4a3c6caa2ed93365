"""Profiles a snippet: `python -m hipward_kernels.profile FILE [--device cuda] [--trace trace.json] [--training]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch

from hipward_kernels.harness import contract
from hipward_kernels.harness.failure import JobFailedError
from hipward_kernels.measure.subject import at_least
from hipward_kernels.numerics.nested import tensors
from hipward_kernels.profile.breakdown import table
from hipward_kernels.profile.graph_breaks import graph_breaks
from hipward_kernels.profile.pytorch import profile


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.profile", description=__doc__)
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--model", default="Model", choices=["Model", "ModelNew"])
    parser.add_argument("--compile", action="store_true", help="profile torch.compile of it")
    parser.add_argument("--training", action="store_true", help="forward and backward of the outputs' sum")
    parser.add_argument("--calls", type=at_least(1), default=5)
    parser.add_argument("--trace", type=Path, help="keep the Chrome trace here")
    parser.add_argument("--graph-breaks", action="store_true", help="say where torch.compile breaks the graph")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hipward-") as directory:
        try:
            code = options.file.read_text(encoding="utf-8")
            snippet = contract.load(code, Path(directory), torch.device(options.device))
            model, inputs = snippet.build(options.model), snippet.inputs(0)
        except OSError as error:
            parser.error(str(error))
        except JobFailedError as error:
            parser.exit(1, f"{error.failure.message}\n{error.failure.help}\n")
        if options.graph_breaks:
            print(graph_breaks(model, inputs).in_words())
            print()
        run = torch.compile(model) if options.compile else model

        def call() -> None:
            if options.training:
                model.zero_grad()
                sum(out.float().sum() for out in tensors(run(*inputs)) if out.is_floating_point()).backward()  # type: ignore[union-attr]
            else:
                with torch.no_grad():
                    run(*inputs)

        print(table(profile(call, calls=options.calls, trace=options.trace)))


if __name__ == "__main__":
    main()
