"""Converts weights between versions.

Fused projections contain the rows of their parts one after the other, so states with separate and with fused
projections have the same numbers. The separate form is the common one, in which gradients and optimizer moments are
compared too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hipward_kernels.ops.rope import convert_weight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from hipward_kernels.models.config import Config, Switches
    from hipward_kernels.ops.rope.layout import Layout

_QKV = ("q_proj", "k_proj", "v_proj")
_GATE_UP = ("gate_proj", "up_proj")


def separate(state: Mapping[str, Tensor], config: Config) -> dict[str, Tensor]:
    """The state with separate projections; fused ones are split."""
    rows = {
        "qkv_proj": (_QKV, [heads * config.head_dim for heads in config.qkv_heads]),
        "gate_up_proj": (_GATE_UP, [config.intermediate_size] * 2),
    }
    result = {}
    for name, tensor in state.items():
        owner, _, projection = name.removesuffix(".weight").rpartition(".")
        if projection in rows:
            parts, sizes = rows[projection]
            for part, values in zip(parts, torch.split(tensor, sizes), strict=True):
                result[f"{owner}.{part}.weight"] = values
        else:
            result[name] = tensor
    return result


def fused(state: Mapping[str, Tensor], switches: Switches) -> dict[str, Tensor]:
    """A separate state with the projections that `switches` select fused."""
    result = dict(state)
    wanted = [
        (_QKV, "qkv_proj", switches.fused_qkv),
        (_GATE_UP, "gate_up_proj", switches.fused_gate_up),
    ]
    for parts, whole, on in wanted:
        ending = f".{parts[0]}.weight"
        for owner in [name.removesuffix(ending) for name in state if on and name.endswith(ending)]:
            result[f"{owner}.{whole}.weight"] = torch.cat([result.pop(f"{owner}.{part}.weight") for part in parts])
    return result


def copy_weights(source: nn.Module, target: nn.Module, config: Config, switches: Switches) -> None:
    """Copies the weights of `source`, with any switches, to `target`, with `config` and `switches`."""
    target.load_state_dict(fused(separate(source.state_dict(), config), switches))


def gradients(model: nn.Module, config: Config) -> dict[str, Tensor]:
    """The gradients of a model by the names of its separate parameters; those that are missing are left out."""
    present = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return separate(present, config)


def without_gradient(model: nn.Module) -> list[str]:
    """Names of the parameters without a gradient, which training does not change."""
    return [name for name, parameter in model.named_parameters() if parameter.grad is None]


def with_rope_layout(state: Mapping[str, Tensor], config: Config, to: Layout) -> dict[str, Tensor]:
    """Converts a separate state to another layout of rotary embeddings with the same results."""
    heads = {"q_proj": config.num_heads, "k_proj": config.num_kv_heads}

    def converted(name: str, tensor: Tensor) -> Tensor:
        projection = name.removesuffix(".weight").rpartition(".")[2]
        return convert_weight(tensor, heads[projection], to) if projection in heads else tensor

    return {name: converted(name, tensor) for name, tensor in state.items()}
