# test: figure busy.svg
"""Draws busy.csv: the part of a step in which the GPU works, and the part in which it waits for the host."""

import csv
from pathlib import Path

LEFT, WIDTH, TALL = 132, 420, 40
rows = list(csv.DictReader(Path(__file__).with_name("busy.csv").open(encoding="utf-8")))
scale = WIDTH / max(float(row["step (ms)"]) for row in rows)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {TALL * len(rows) + 40}">')
for index, row in enumerate(rows):
    y, busy, idle = TALL * index + 6, float(row["GPU busy (ms)"]), float(row["GPU idle (ms)"])
    middle = LEFT + scale * busy
    print(f'<text class="end" x="{LEFT - 8}" y="{y + 19}">{row["version"]}</text>')
    print(f'<rect class="a" x="{LEFT}" y="{y}" width="{scale * busy:.1f}" height="28"/>')
    print(f'<rect class="off" x="{middle:.1f}" y="{y}" width="{scale * idle:.1f}" height="28"/>')
    end = LEFT + scale * (busy + idle) + 8
    print(f'<text class="small" x="{end:.1f}" y="{y + 19}">{row["launches"]} launches</text>')
y = TALL * len(rows) + 12
print(f'<rect class="a" x="{LEFT}" y="{y}" width="14" height="14"/><text class="small" x="{LEFT + 20}" y="{y + 12}">busy</text>')
print(f'<rect class="off" x="{LEFT + 80}" y="{y}" width="14" height="14"/>')
print(f'<text class="small" x="{LEFT + 100}" y="{y + 12}">idle</text>')
print("</svg>")
