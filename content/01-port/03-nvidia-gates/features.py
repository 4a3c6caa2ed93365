# test: run
"""Questions about a feature, answered per architecture."""

from __future__ import annotations

import torch


# anchor: fp8
def fp8_dtype(arch_name: str) -> torch.dtype | None:
    """The 8-bit float format of this architecture's matrix cores, or None if they have none."""
    if arch_name == "gfx942":
        return torch.float8_e4m3fnuz  # largest value 240
    if arch_name == "gfx950":
        return torch.float8_e4m3fn  # largest value 448
    if arch_name.startswith("sm_") and int(arch_name.removeprefix("sm_")) >= 89:
        return torch.float8_e4m3fn  # NVIDIA since Ada: sm_89, sm_90, sm_100, sm_103, sm_120, sm_121
    return None
# end: fp8


if __name__ == "__main__":
    assert fp8_dtype("gfx90a") is None and fp8_dtype("sm_80") is None and fp8_dtype("cpu") is None
    for name in ("sm_89", "sm_90", "sm_103", "sm_121"):
        assert fp8_dtype(name) is torch.float8_e4m3fn
    for name, largest in (("gfx942", 240.0), ("gfx950", 448.0)):
        dtype = fp8_dtype(name)
        assert dtype is not None and torch.finfo(dtype).max == largest
    # The same bits, read in the other format, are half the value.
    bits = torch.tensor([1.0, 3.5, 208.0]).to(torch.float8_e4m3fn)
    assert torch.equal(bits.view(torch.float8_e4m3fnuz).float() * 2, bits.float())
