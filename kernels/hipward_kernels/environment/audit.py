"""Compares a host with the recommended settings: `python -m hipward_kernels.environment.audit`.

The audit changes nothing. Each line has the current value, the reason, and the command that changes it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hipward_kernels.environment import allocator
from hipward_kernels.environment.settings import SETTINGS, UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipward_kernels.environment.gpu_utils import Vendor
    from hipward_kernels.environment.settings import Setting

State = Literal["good", "change", "try"]
"""`change`: the value costs time. `try`: another value may save time; measure it."""


@dataclass(frozen=True)
class Finding:
    """A setting of this host."""

    name: str
    state: State
    found: str
    """The value; `not set` for a variable that is not."""
    why: str
    command: str
    """Command that sets the recommended value; empty if the value is good."""


def audit(vendor: Vendor, variables: Mapping[str, str] | None = None, root: Path = Path("/")) -> list[Finding]:
    """The settings of this host; those that cost time come first.

    Args:
        vendor: Vendor of the GPU; settings of other vendors are left out.
        variables: The environment (default: that of this process).
        root: Directory of `proc` and `sys`. Files that are missing or not readable are left out.
    """
    environment = os.environ if variables is None else variables
    findings = [
        finding
        for setting in SETTINGS
        if setting.vendor in ("any", vendor) and (finding := _look(setting, environment, root)) is not None
    ]
    matters: tuple[State, ...] = ("change", "try", "good")
    return sorted(findings, key=lambda finding: matters.index(finding.state))


def _look(setting: Setting, variables: Mapping[str, str], root: Path) -> Finding | None:
    if setting.where == "variable":
        value = variables.get(setting.name, UNSET)
        shown, name = value or "not set", setting.name
    else:
        try:
            shown = value = (root / setting.name).read_text(encoding="utf-8").strip()
        except OSError:
            return None
        name = f"/{setting.name}"
    good = value in setting.good
    state: State = "good" if good else "try" if setting.optional else "change"
    return Finding(name, state, shown, setting.why, "" if good else setting.command)


def malformed(variables: Mapping[str, str]) -> list[Finding]:
    """Malformed variables with which PyTorch aborts at import or at the first tensor on a GPU."""
    return [
        Finding(name, "change", variables[name], f"PyTorch aborts: {wrong}.", allocator.command(name))
        for name, wrong in allocator.problems(variables).items()
    ]


def precision_note(precision: str) -> Finding:
    """Recommends TF32 for float32 matrix products: faster, but with other results.

    Args:
        precision: The value of `torch.get_float32_matmul_precision()`: `highest`, `high` or `medium`.
    """
    good = precision != "highest"
    return Finding(
        "torch.set_float32_matmul_precision",
        "good" if good else "try",
        precision,
        "float32 matrix products may use TF32 on gfx942 and NVIDIA GPUs: about 3 decimal digits instead of 7. "
        "gfx950 has no such mode.",
        "" if good else "in Python, before the model runs: torch.set_float32_matmul_precision('high')",
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.environment.audit", description=__doc__)
    parser.add_argument(
        "--vendor", choices=["amd", "nvidia", "none"], help="vendor of the GPU (default: that of this host)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON list")
    options = parser.parse_args()
    if broken := malformed(os.environ):
        # Further checks need PyTorch.
        _print(broken, as_json=options.json)
        sys.exit(1)
    import torch  # noqa: PLC0415 - tells the vendor and the precision; the audit itself needs neither

    from hipward_kernels.environment.gpu_utils import detect_gpu_vendor  # noqa: PLC0415

    findings = audit(options.vendor or detect_gpu_vendor())
    findings.append(precision_note(torch.get_float32_matmul_precision()))
    _print(findings, as_json=options.json)


def _print(findings: list[Finding], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings]))
        return
    for finding in findings:
        print(f"{finding.state:<7}{finding.name} is {finding.found}")
        if finding.command:
            print(f"       {finding.why}\n       $ {finding.command}")


if __name__ == "__main__":
    main()
