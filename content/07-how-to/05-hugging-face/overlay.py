# test: run
"""A tiny Llama of random weights, patched by the overlay and by the rewriter. Needs transformers for the first part."""

import importlib.util

import torch
from hipward_kernels.rewrite.steps import OPS, PROJECTIONS, Switches, optimize
from torch import nn
from torch.nn import functional as F


def check_overlay():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config).eval()
    tokens = torch.randint(0, 64, (2, 17))
    # anchor: patch
    from hipward_kernels.overlay import llama, patched

    with torch.no_grad():
        before = model(tokens).logits
        with patched(llama):
            after = model(tokens).logits
    # end: patch
    # anchor: check
    torch.testing.assert_close(after, before, atol=1e-4, rtol=1e-4)
    # end: check


class FeedForward(nn.Module):
    def __init__(self, width=64, hidden=128):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        x = self.norm(x)
        return self.down(F.silu(self.gate(x)) * self.up(x))


def check_rewriter():
    model = FeedForward()
    example = torch.randn(3, 64)
    expected = model(example)
    keys = set(model.state_dict())
    # anchor: rewrite
    optimized = optimize(model, [example], Switches(steps=(OPS, PROJECTIONS)))
    for line in optimized.includes():
        print(line)
    for step in (OPS, PROJECTIONS):
        if reason := optimized.reason(step):
            print(f"{step.label}: {reason}")
    result = optimized.call(example)
    # end: rewrite
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)
    assert set(optimized.model.state_dict()) == keys


torch.manual_seed(0)
check_rewriter()
if importlib.util.find_spec("transformers"):
    check_overlay()
