# test: figure bytes.svg
"""Draws the bytes that each operator of RMSNorm moves, counted by traffic.py, and those of one fused kernel."""

import torch
from traffic import CountTraffic, norm_as_llama_has_it

LEFT, UNIT, TALL = 120, 128, 27
x = torch.randn(512, 4096, dtype=torch.bfloat16)
weight = torch.ones(4096, dtype=torch.bfloat16)
with CountTraffic() as counted:
    norm_as_llama_has_it(x, weight)
bars = [(name.strip("_"), moved / x.nbytes) for name, moved in counted.kernels]
total, least = sum(size for _, size in bars), (2 * x.nbytes + weight.nbytes) / x.nbytes
bars.append(("fused", least))

print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {TALL * len(bars) + 74}">')
for index, (name, size) in enumerate(bars):
    top = TALL * index + (24 if name == "fused" else 0)
    fill = "b" if name == "fused" else "a"
    print(f'<text class="end mono small" x="{LEFT - 8}" y="{top + 16}">{name}</text>')
    print(f'<rect class="{fill}" x="{LEFT}" y="{top + 1}" width="{max(UNIT * size, 1.5):.1f}" height="20"/>')
    label = f"{size:.1f}" if size >= 0.05 else "almost 0"
    print(f'<text class="small" x="{LEFT + UNIT * size + 8:.1f}" y="{top + 16}">{label}</text>')
line = TALL * (len(bars) - 1) + 10
print(f'<path class="line dash thin" d="M8 {line}H712"/>')
print(f'<path class="line thin" d="M{LEFT} 0V{TALL * len(bars) + 24}"/>')
bottom = TALL * len(bars) + 44
print(f'<text class="small quiet" x="{LEFT}" y="{bottom}">bytes read and written, in sizes of x (bfloat16)</text>')
print(
    f'<text class="small" x="{LEFT}" y="{bottom + 20}">'
    f"eight operators: {total:.1f}; one kernel: {least:.1f}; ratio {total / least:.1f}</text>"
)
print("</svg>")
