# test: run
"""From which gate on the common form of tanh is NaN in float32, and what the sigmoid form returns there."""

import math

import torch


# anchor: forms
def inner(gate: torch.Tensor) -> torch.Tensor:
    return math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)


def with_tanh(gate: torch.Tensor) -> torch.Tensor:
    e = torch.exp(2 * inner(gate))
    return 0.5 * gate * (1 + (e - 1) / (e + 1))  # tanh by exponentials


def with_sigmoid(gate: torch.Tensor) -> torch.Tensor:
    return gate / (1 + torch.exp(-2 * inner(gate)))  # (1 + tanh(i)) / 2 is sigmoid(2i)
# end: forms


if __name__ == "__main__":
    gate = torch.arange(0, 20, 0.01)
    first = gate[with_tanh(gate).isnan()][0].item()
    print(f"tanh by exponentials is NaN from gate {first:.2f} on")
    for value in (-100.0, -5.0, first, 100.0):
        x = torch.tensor(value)
        print(f"gate {value:7.2f}: {with_tanh(x).item():8.3f} {with_sigmoid(x).item():8.3f}")
    exact = torch.nn.functional.gelu(gate.double(), approximate="tanh")
    assert (with_sigmoid(gate) - exact).abs().max() < 1e-5
