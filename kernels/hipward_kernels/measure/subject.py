"""Loads the snippet that a script measures, and reports errors."""

from __future__ import annotations

import argparse
import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hipward_kernels.harness import contract
from hipward_kernels.harness.failure import JobFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.harness.contract import Snippet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that all scripts share."""
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--model", default="Model", choices=["Model", "ModelNew"])
    parser.add_argument("--compile", action="store_true", help="torch.compile it first")


def add_counts(parser: argparse.ArgumentParser, iterations: int, *, least: int = 1, warmup: int | None = None) -> None:
    """Adds the numbers of timed and, if the script has a `warmup`, untimed calls or steps."""
    if warmup is not None:
        parser.add_argument("--warmup", type=at_least(0), default=warmup)
    parser.add_argument("--iterations", type=at_least(least), default=iterations)


def at_least(least: int) -> Callable[[str], int]:
    """A parser of integers of at least `least`, for `argparse`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is no whole number from {least} on")
        return number

    return read


def named_device(text: str) -> torch.device:
    """The device of `--device`.

    Raises:
        ValueError: The name is invalid, or there is no such GPU.
    """
    try:
        device = torch.device(text)
    except RuntimeError as error:
        raise ValueError(f"--device {text}: there is no such device; cpu, cuda and cuda:1 are some") from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"--device {text}: there is no GPU here; --device cpu runs on the processor")
        device = torch.device("cuda", device.index or 0)
        if device.index >= torch.cuda.device_count():
            raise ValueError(f"--device {text}: there are {torch.cuda.device_count()} GPUs here, from cuda:0 on")
    return device


def script(main: Callable[[], None]) -> Callable[[], None]:
    """An entry point that prints an error message if the snippet fails."""

    @functools.wraps(main)
    def run() -> None:
        try:
            main()
        except JobFailedError as error:
            raise SystemExit(f"{error.failure.message}\n{error.failure.help}") from error

    return run


def load(parser: argparse.ArgumentParser, options: argparse.Namespace, device: str | None = None) -> Snippet:
    """Loads the snippet; ends the program with an error message if that fails."""
    directory = Path(tempfile.mkdtemp(prefix="hipward-"))
    try:
        source = options.file.read_text(encoding="utf-8")
        return contract.load(source, directory, named_device(device or options.device))
    except (OSError, ValueError) as error:
        parser.error(str(error))
