# test: figure busy.svg
"""Draws busy.csv: busy and idle time of the GPU in a training step."""

import csv
from pathlib import Path

NAMES = {"1": "1: eager", "2": "2: compiler", "3": "3: own kernels"}
LEFT, SCALE, ROW = 140, 6.6, 56
rows = list(csv.DictReader(Path(__file__).with_name("busy.csv").open(encoding="utf-8")))
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {ROW * len(rows) + 36}">')
for number, row in enumerate(rows):
    y = 8 + number * ROW
    busy, step = float(row["busy_ms"]) * SCALE, float(row["step_ms"]) * SCALE
    idle = float(row["step_ms"]) - float(row["busy_ms"])
    print(f'<text x="{LEFT - 12}" y="{y + 23}" class="end small">{NAMES[row["version"]]}</text>')
    print(f'<rect x="{LEFT}" y="{y}" width="{busy:.0f}" height="36" class="a"/>')
    print(f'<rect x="{LEFT + busy:.0f}" y="{y}" width="{step - busy:.0f}" height="36" class="line"/>')
    print(f'<text x="{LEFT + 10}" y="{y + 23}" class="small on">busy {float(row["busy_ms"]):.1f} ms</text>')
    print(f'<text x="{LEFT + step + 8:.0f}" y="{y + 23}" class="small">idle {idle:.1f}</text>')
print(f'<text x="{LEFT}" y="{8 + ROW * len(rows) + 12}" class="small quiet">filled: the GPU runs kernels; outlined: it waits for the host</text>')
print("</svg>")
