"""Command line of the compilers: `python -m hipward_kernels.compile FILE --arch gfx942` prints a kernel's resources.

A file with the suffix `.py` is Triton, any other is HIP. `--asm` prints the assembly with the lines of the source. The
exit code is 1 if an architecture could not be compiled.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hipward_kernels.compile import CompileError, Request, compile_source
from hipward_kernels.compile.request import ARCHS


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.compile", description="Compiles a Triton or HIP kernel to AMD machine code."
    )
    parser.add_argument("file", type=Path, help="kernel.py is Triton, kernel.hip is HIP")
    parser.add_argument("--arch", action="append", help=f"a target, may be repeated (default: {' '.join(ARCHS)})")
    parser.add_argument("--kernel", help="name of the Triton kernel")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=TYPE", help="x_ptr=*bf16, n=i32:16, BLOCK=1024"
    )
    parser.add_argument("--num-warps", type=int)
    parser.add_argument("--num-stages", type=int)
    parser.add_argument("--asm", action="store_true", help="print the assembly, too")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    options = parser.parse_args()
    try:
        request = Request.from_json(
            {
                "language": "triton" if options.file.suffix == ".py" else "hip",
                "source": options.file.read_text(encoding="utf-8"),
                "archs": options.arch or list(ARCHS),
                "kernel": options.kernel,
                "arguments": dict(map(_argument, options.arg)),
                "num_warps": options.num_warps,
                "num_stages": options.num_stages,
            }
        )
        with tempfile.TemporaryDirectory(prefix="hipward-") as directory:
            answer = compile_source(request, Path(directory))
    except (OSError, UnicodeDecodeError, CompileError) as error:
        failure = getattr(error, "failure", None)
        parser.exit(1, f"{error}\n{failure.help}\n" if failure else f"{error}\n")
    if options.json:
        json.dump(answer, sys.stdout)
        print()
    else:
        print("\n".join(report(answer, with_assembly=options.asm)))
    if any(target["error"] for target in answer["targets"]):
        sys.exit(1)


def _argument(text: str) -> tuple[str, Any]:
    """Parses `BLOCK=1024` as a number and `x_ptr=*bf16` as a type."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def report(answer: dict[str, Any], *, with_assembly: bool) -> list[str]:
    """An answer as lines of text."""
    lines = [f"{answer['compiler']}, {answer['seconds'] * 1e3:.0f} ms"]
    for argument in answer["signature"]:
        value = f" = {argument['value']!r}" if argument["type"] == "constexpr" else ""
        lines.append(f"  {argument['name']}: {argument['type']}{value}  ({argument['source']})")
    for target in answer["targets"]:
        if error := target["error"]:
            lines += [f"{target['arch']}: {error['message']}", f"  {error['help']}"]
            continue
        for kernel in target["kernels"]:
            used, fits = kernel["resources"], kernel["occupancy"]
            lines.append(
                f"{target['arch']} {used['name']}: {used['vgprs']} VGPR ({used['agprs']} AGPR), {used['sgprs']} SGPR, "
                f"{used['vgpr_spills']}+{used['sgpr_spills']} spilled, {used['lds_bytes']} B LDS, "
                f"{fits['waves_per_simd']} waves/SIMD, {fits['waves_per_cu']} waves/CU limited by {fits['limited_by']}"
            )
            moves = ", ".join(f"{m['count']} × {m['kind']} {m['bytes']} B" for m in used["memory"])
            lines.append(
                f"  {used['instructions']} instructions, {used['matrix_instructions']} matrix; {moves or 'no memory'}"
            )
        if with_assembly:
            lines += _annotated(target)
    return lines


def _annotated(target: dict[str, Any]) -> list[str]:
    """The assembly, with the number of the source line at the first instruction of each range."""
    starts = {part["first"]: part["source"] for part in target["lines"]}
    shown = []
    for number, text in enumerate(target["texts"]["amdgcn"].splitlines(), start=1):
        if text.startswith(("\t.loc", "\t.file")):
            continue
        shown.append(f"{starts.get(number, ''):>5} {text}")
    return shown


if __name__ == "__main__":
    main()
