# test: figure bars.svg
"""Draws four combinations of two switches, and what their product would predict, from ablation.csv."""

import csv
from pathlib import Path

rows = list(csv.DictReader((Path(__file__).parent / "ablation.csv").open(encoding="utf-8")))
ms = {
    (row["flash_attention"], row["compile"]): float(row["median_ms"])
    for row in rows
    if row["fused_qkv"] == row["fused_gate_up"] == "0"
}
none, flash, compiled, both = ms["0", "0"], ms["1", "0"], ms["0", "1"], ms["1", "1"]
product = flash * compiled / none
bars = [("neither", none, "a"), ("flash attention", flash, "a"), ("torch.compile", compiled, "a"), ("both", both, "a")]
bars.append(("if gains multiplied", product, None))

LEFT, SCALE, ROW = 150, 430 / none, 44
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {ROW * len(bars) + 10}">')
for number, (name, value, color) in enumerate(bars):
    y = 8 + number * ROW
    fill = f'class="{color}"' if color else 'class="line dash"'
    print(f'<text x="{LEFT - 12}" y="{y + 20}" class="end">{name}</text>')
    print(f'<rect x="{LEFT}" y="{y}" width="{value * SCALE:.1f}" height="30" {fill}/>')
    print(f'<text x="{LEFT + value * SCALE + 10:.1f}" y="{y + 20}" class="small">{value:.1f} ms, {none / value:.2f}×</text>')
print("</svg>")
