# test: figure masks.svg
"""Draws the two alignments of a causal mask, for three queries and eight keys, from SDPA's own results."""

import torch
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

QUERIES, KEYS, CELL = 3, 8, 30


def seen(**arguments: object) -> torch.Tensor:
    """Which keys each query sees: with one-hot values, the output is the row of weights."""
    q, k = torch.zeros(1, 1, QUERIES, KEYS), torch.zeros(1, 1, KEYS, KEYS)
    v = torch.eye(KEYS).view(1, 1, KEYS, KEYS)
    return F.scaled_dot_product_attention(q, k, v, **arguments)[0, 0] > 0


def panel(left: int, name: str, title: str, rows: torch.Tensor) -> list[str]:
    right = left + KEYS * CELL
    lines = [f'<text class="strong" x="{left}" y="16">{name}</text>']
    lines += [f'<text class="small mono" x="{left}" y="36">{title}</text>']
    for query in range(QUERIES):
        y = 46 + query * CELL
        for key in range(KEYS):
            x = left + key * CELL
            kind, text = ("a", "on") if rows[query, key] else ("off", "quiet")
            label = "1" if rows[query, key] else "–"
            lines.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}"/>')
            lines.append(f'<text class="{text} mid small" x="{x + 14}" y="{y + 19}">{label}</text>')
        lines.append(f'<text class="small" x="{right + 4}" y="{y + 19}">q{query + 5}</text>')
    y = 46 + QUERIES * CELL + 14
    lines.append(f'<text class="small quiet" x="{left}" y="{y}">key 0</text>')
    lines.append(f'<text class="small quiet end" x="{right}" y="{y}">key 7, the newest</text>')
    return lines


masks = {
    "A: top left": ("is_causal=True", {"is_causal": True}),
    "B: bottom right": ("causal_lower_right(3, 8)", {"attn_mask": causal_lower_right(QUERIES, KEYS)}),
}
svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 156">']
for column, (name, (title, arguments)) in enumerate(masks.items()):
    svg += panel(8 + 330 * column, name, title, seen(**arguments))
print("\n".join([*svg, "</svg>"]))
