# test: run
"""Compiles the kernel for AMD GPUs on a machine without one, and reads the machine code."""

from __future__ import annotations

import re

import triton
from kernel import rms_norm_forward
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


# anchor: compile
def assembly(arch: str, block: int, num_warps: int) -> str:
    """Compile to AMD assembly, for bf16 pointers aligned to 16 bytes."""
    pointers = dict.fromkeys(("x_ptr", "weight_ptr", "y_ptr"), "*bf16")
    signature = pointers | {"rstd_ptr": "*fp32", "stride": "i32", "columns": "i32", "eps": "fp32"}
    source = ASTSource(
        rms_norm_forward,
        signature=signature | {"BLOCK": "constexpr"},
        constexprs={"BLOCK": block},
        attrs={(index,): [["tt.divisibility", 16]] for index in (0, 1, 2, 3, 4, 5)},
    )
    options = {"num_warps": num_warps, "enable_fp_fusion": True}
    compiled = triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)
    return compiled.asm["amdgcn"]
# end: compile


# anchor: read
def resources(code: str) -> dict[str, int]:
    def number(pattern: str) -> int:
        found = re.search(pattern, code)
        assert found is not None, pattern
        return int(found[1])

    return {
        "vgprs": number(r"\.vgpr_count:\s+(\d+)"),
        "spills": number(r"\.vgpr_spill_count:\s+(\d+)"),
        "waves_by_registers": number(r"; Occupancy:\s+(\d+)"),
        "loads_16_bytes": len(re.findall(r"(?:global|buffer)_load_dwordx4", code)),
        "loads_narrower": len(re.findall(r"(?:global|buffer)_load_(?!dwordx4)\w+", code)),
    }
# end: read


# anchor: waves
def waves_that_run(by_registers: int, num_warps: int) -> int:
    """Waves on each of a compute unit's four SIMDs. Only whole workgroups of `num_warps` start."""
    workgroups = 4 * by_registers // num_warps
    return workgroups * num_warps // 4
# end: waves


def main() -> None:
    print(f"Triton {triton.__version__}")
    print("arch    columns  num_warps  VGPRs  waves  spills  16-byte loads  narrower loads")
    for arch in ("gfx90a", "gfx942", "gfx950"):
        for block, num_warps in ((2048, 2), (2048, 16), (4096, 4), (8192, 8), (32768, 16), (65536, 4)):
            r = resources(assembly(arch, block, num_warps))
            waves = waves_that_run(r["waves_by_registers"], num_warps)
            print(
                f"{arch}  {block:7}  {num_warps:9}  {r['vgprs']:5}  {waves:5}  {r['spills']:6}"
                f"  {r['loads_16_bytes']:13}  {r['loads_narrower']:14}"
            )
            if num_warps == max(1, min(block // 1024, 16)) and block <= 32768:  # our launch_shape
                assert r["spills"] == 0 and r["loads_16_bytes"] > 0


if __name__ == "__main__":
    main()
