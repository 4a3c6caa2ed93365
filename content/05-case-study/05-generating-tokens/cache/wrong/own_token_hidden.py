# fails: case_text, case_last_position, case_second_text
# message: The logits are wrong. Which positions may the next token attend to, its own included? Which row of the table belongs to it?
"""Keys and values in buffers of fixed size, for decoding one token after another."""

import torch
from torch import Tensor


class FixedLayer:
    """Keys and values of one layer, `[B, T, heads, features]` for at most T tokens."""

    def __init__(self, k: Tensor, v: Tensor, position: Tensor, visible: Tensor) -> None:
        self.k, self.v, self.position = k, v, position
        self.visible = visible
        """`[T]`, bool: the positions that the next token may attend to, its own included."""

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Stores new keys and values, `[B, S, heads, features]`; returns those to attend to."""
        if k.shape[1] > 1:
            # A prompt: S tokens from position 0 on. It attends to itself only.
            # hole: prompt
            self.k[:, : k.shape[1]] = k
            self.v[:, : v.shape[1]] = v
            return k, v
            # end: prompt
        # hole: token
        # The position stays on the device. `self.k[:, int(self.position)]` would wait for it.
        self.k.index_copy_(1, self.position, k)
        self.v.index_copy_(1, self.position, v)
        # The whole buffers: their shape is the same for every token. `visible` hides the rest.
        return self.k, self.v
        # end: token


class FixedCache:
    """The caches of all layers. All tensors keep their addresses."""

    def __init__(self, layers: int, batch: int, length: int, heads: int, features: int) -> None:
        self.position = torch.zeros(1, dtype=torch.int64)
        """`[1]`: position of the next token."""
        self.numbers = torch.arange(length)
        self.visible = self.numbers <= self.position
        shape = (batch, length, heads, features)
        self.layers = [
            FixedLayer(torch.zeros(shape), torch.zeros(shape), self.position, self.visible) for _ in range(layers)
        ]

    def next_row(self, table: Tensor) -> Tensor:
        """The row of a table of positions for the next token."""
        # hole: row
        return table[self.position]
        # end: row

    def advance(self, tokens: int) -> None:
        """Moves the position, after all layers were extended."""
        # hole: advance
        self.position += tokens
        torch.lt(self.numbers, self.position, out=self.visible)
        # end: advance

    def clear(self) -> None:
        """Begins a new text in the same buffers."""
        self.position.zero_()
        self.advance(0)


def gb_per_s(parameter_bytes: int, cache_bytes: int, token_ms: float) -> float:
    """Rate at which a step of decoding reads: each parameter once, and the filled part of the caches."""
    # hole: rate
    return (parameter_bytes + cache_bytes) / (token_ms * 1e-3) / 1e9
    # end: rate
