"""Options that the scripts share, and what they select."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hipward_kernels.measure.subject import named_device
from hipward_kernels.models.config import SIZES, SWITCHES, VERSIONS, Config, Switches, version
from hipward_kernels.models.training import PRECISIONS, Precision

if TYPE_CHECKING:
    from collections.abc import Sequence

FUSIONS = {
    "qkv-fusion": "fused_qkv",
    "flash-attention": "flash_attention",
    "swiglu-fusion": "fused_gate_up",
    "torch-compile": "compile",
}
"""The document's names of V2's switches, and the names in this package."""


@dataclass(frozen=True)
class Subject:
    """The subject of a measurement: one version of one model on one shape of batch."""

    version: str
    """`v1` … `v4`, or such a name and how its switches differ: `v2 -compile`."""
    switches: Switches
    size: str
    batch_size: int
    sequence_length: int
    precision: Precision

    @property
    def config(self) -> Config:
        """The model's."""
        return SIZES[self.size].config

    @property
    def tokens(self) -> int:
        """In a batch."""
        return self.batch_size * self.sequence_length

    @property
    def itemsize(self) -> int:
        """Bytes of a number that products are computed in."""
        return 2 if self.precision == "bfloat16" else 4


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """With the options that say on what and in what precision."""
    made = argparse.ArgumentParser(
        prog=f"python -m hipward_kernels.workshop.{name}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    group = made.add_argument_group("what is run")
    group.add_argument("--size", choices=list(SIZES), default="small", help="of the model; it sets the batch too")
    group.add_argument("--batch-size", type=positive, help="sequences in a batch; default: the size's")
    group.add_argument("--seq-len", type=positive, help="tokens in a sequence; default: the size's")
    group.add_argument("--precision", choices=PRECISIONS, default="float32", help="of matrix products")
    group.add_argument("--use-amp", action="store_true", help="compute in --amp-dtype: the same as --precision")
    group.add_argument("--amp-dtype", choices=["bfloat16"], default="bfloat16", help="with --use-amp")
    group.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda, cuda:1, cpu")
    group.add_argument("--seed", type=int, default=0, help="of weights and data")
    return made


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Adds the options that switch single parts of a version."""
    group = parser.add_argument_group("switches, on top of the version's own")
    for flag, switch in FUSIONS.items():
        group.add_argument(f"--enable-{flag}", dest="on", action="append_const", const=switch, help=f"{switch} on")
        group.add_argument(f"--disable-{flag}", dest="off", action="append_const", const=switch, help=f"{switch} off")
    group.add_argument("--enable-all-fusion", action="store_true", help="all four of these on")
    group.add_argument("--on", dest="on", action="append", choices=SWITCHES, metavar="SWITCH", help="any switch on")
    group.add_argument("--off", dest="off", action="append", choices=SWITCHES, metavar="SWITCH", help="any switch off")


def subject(options: argparse.Namespace, name: str) -> Subject:
    """What the options select of the version `name`."""
    switches = version(name)
    on = [
        *(FUSIONS.values() if getattr(options, "enable_all_fusion", False) else ()),
        *(getattr(options, "on", ()) or ()),
    ]
    off = getattr(options, "off", ()) or ()
    try:
        # Checked together at the end, because a switch may require another.
        changed = switches.with_(on=set(on) - set(off), off=off)
    except ValueError as error:
        raise SystemExit(f"{error}; switch both") from error
    difference = [f"+{s}" for s in changed.on() if s not in switches.on()]
    difference += [f"-{s}" for s in switches.on() if s not in changed.on()]
    size = SIZES[options.size]
    chosen = Subject(
        version=" ".join([name, *difference]),
        switches=changed,
        size=options.size,
        batch_size=options.batch_size or size.batch_size,
        sequence_length=options.seq_len or size.sequence_length,
        precision=options.amp_dtype if options.use_amp else options.precision,
    )
    if chosen.sequence_length > chosen.config.max_positions:
        raise SystemExit(
            f"--seq-len {chosen.sequence_length}: the size {options.size} has {chosen.config.max_positions} positions"
        )
    return chosen


def device(options: argparse.Namespace) -> torch.device:
    """The requested device; an error if it does not exist."""
    try:
        wanted = named_device(options.device)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    if wanted.type == "cuda":
        torch.cuda.set_device(wanted)
    return wanted


def positive(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def directory(text: str) -> Path:
    """A folder, created if it is missing."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} is no folder and cannot be made one: {error.strerror}") from error
    return path


def numbers(text: str) -> list[int]:
    """Reads `4,8,16`."""
    return [positive(part) for part in text.split(",")]


def versions(text: str) -> list[str]:
    """Reads `v1,v2`."""
    names = text.split(",")
    for name in names:
        if name not in VERSIONS:
            raise argparse.ArgumentTypeError(f"there is no version {name!r}; there are {', '.join(VERSIONS)}")
    return names


def version_of(text: str) -> str:
    """A version by its name, or by the path of its script: `v1`, `../version1_pytorch_baseline/tiny_llama_v1.py`."""
    name = Path(text).stem.removeprefix("tiny_llama_")
    return versions(name)[0]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(header), f"|{'|'.join(f' {r} ' for r in rule)}|", *map(line, rows)])
