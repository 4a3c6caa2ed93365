# test: figure floor.svg
"""Draws the steps of the medium model beside the least time that the function needs."""

import csv
from pathlib import Path

rows = [row for row in csv.DictReader(Path(__file__).with_name("steps.csv").open(encoding="utf-8")) if row["size"] == "medium"]
# kernels/results/models.csv, study roofline: operations, bytes, and the measured rates of a product and of a copy.
arithmetic = 9.6373e12 / 800.814e12 * 1e3
traffic = 20.7607e9 / 4260.95e9 * 1e3
LEFT, SCALE, ROW, TOP = 110, 8, 46, 44
bottom = TOP + ROW * len(rows)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {bottom + 14}">')
for number, row in enumerate(rows):
    y, width = TOP + number * ROW, float(row["step_ms"]) * SCALE
    print(f'<text class="end small" x="{LEFT - 10}" y="{y + 20}">version {row["version"]}</text>')
    print(f'<rect class="a" x="{LEFT}" y="{y}" width="{width:.0f}" height="30"/>')
    print(f'<text class="small" x="{LEFT + width + 8:.0f}" y="{y + 20}">{float(row["step_ms"]):.1f} ms</text>')
for number, (ms, name) in enumerate(((arithmetic, "arithmetic"), (arithmetic + traffic, "arithmetic, then traffic"))):
    x = LEFT + ms * SCALE
    print(f'<path class="line dash" d="M{x:.0f} 22V{bottom}"/>')
    at, side = (x - 6, "end ") if number == 0 else (x + 6, "")
    print(f'<text class="{side}small" x="{at:.0f}" y="30">{name} {ms:.1f}</text>')
print("</svg>")
