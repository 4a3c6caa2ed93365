# test: run
"""Shows what torch.compile makes of RMSNorm: operators, graph, kernels, and compilations."""

import re

import torch
from torch import Tensor
from torch._inductor.utils import run_and_get_code


# anchor: norm
def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * wide.to(x.dtype)
# end: norm


# anchor: backend
class Listing:
    """A backend that prints each graph that it is asked to compile, and runs it as it is."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, module: torch.fx.GraphModule, example_inputs: list[Tensor]):
        self.graphs += 1
        calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
        print(f"graph {self.graphs}: {len(calls)} operators:", *(node.name for node in calls))
        return module.forward
# end: backend


def main() -> None:
    x = torch.randn(64, 1024, dtype=torch.bfloat16)
    weight = torch.rand(1024, dtype=torch.bfloat16)
    listing = Listing()
    # anchor: recompile
    listed = torch.compile(rms_norm, backend=listing)
    for rows in (4, 8, 16, 32, 64):
        listed(x[:rows], weight)
    # end: recompile
    print(f"5 batch sizes, {listing.graphs} compilations")
    assert listing.graphs == 2

    # anchor: code
    _, code = run_and_get_code(torch.compile(rms_norm), x, weight)
    # end: code
    kernels = set(re.findall(r"(?:cpp|triton)_\w*fused_\w+", "\n".join(code)))
    print(f"{len(kernels)} kernel:", *kernels)
    assert len(kernels) == 1


if __name__ == "__main__":
    main()
