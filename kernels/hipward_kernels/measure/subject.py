"""Loads the snippet that a script measures, and says in a sentence when it cannot."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hipward_kernels.harness import contract
from hipward_kernels.harness.failure import JobFailedError

if TYPE_CHECKING:
    import argparse

    from hipward_kernels.harness.contract import Snippet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that all scripts share."""
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--model", default="Model", choices=["Model", "ModelNew"])
    parser.add_argument("--compile", action="store_true", help="torch.compile it first")


def load(parser: argparse.ArgumentParser, options: argparse.Namespace, device: str | None = None) -> Snippet:
    """The snippet that the arguments name; ends the program with a sentence where there is none."""
    directory = Path(tempfile.mkdtemp(prefix="hipward-"))
    try:
        return contract.load(
            options.file.read_text(encoding="utf-8"), directory, torch.device(device or options.device)
        )
    except (OSError, UnicodeDecodeError) as error:
        parser.error(str(error))
    except JobFailedError as error:
        parser.exit(1, f"{error.failure.message}\n{error.failure.help}\n")
