# test: run
"""Error of a matrix product whose inputs are rounded to narrower formats, relative to float64."""

import torch

torch.manual_seed(0)
a, b = torch.randn(256, 1024, dtype=torch.float64), torch.randn(1024, 256, dtype=torch.float64)
exact = a @ b


# anchor: formats
def tf32(x: torch.Tensor) -> torch.Tensor:
    """Rounds float32 to the 10 bits of mantissa that TF32 keeps, to nearest."""
    bits = x.float().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def fp8(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Rounds to 8 bits with a scale for each row."""
    scale = x.abs().amax(-1, keepdim=True) / torch.finfo(dtype).max
    return (x / scale).to(dtype).double() * scale
# end: formats


def error(x: torch.Tensor, y: torch.Tensor) -> float:
    product = x.double() @ y.double()  # the products themselves are exact enough to leave out
    return ((product - exact).norm() / exact.norm()).item()


fn, fnuz = torch.float8_e4m3fn, torch.float8_e4m3fnuz
# The columns of b are its outputs: they are scaled like the rows of a weight.
results = {
    "float32": error(a.float(), b.float()),
    "tf32": error(tf32(a), tf32(b)),
    "bfloat16": error(a.bfloat16(), b.bfloat16()),
    "e4m3fn": error(fp8(a, fn), fp8(b.T, fn).T),
    "e4m3fnuz": error(fp8(a, fnuz), fp8(b.T, fnuz).T),
}
for name, value in results.items():
    print(f"{name:10} {value:.1e}")
assert 0.02 < results["e4m3fn"] < 0.05
