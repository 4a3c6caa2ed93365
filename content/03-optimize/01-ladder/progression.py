# test: figure progression.svg
"""Draws steps.csv: one bar a step, with the 95 % interval of its median."""

import csv
from pathlib import Path

LEFT, WIDTH, TALL = 190, 440, 34
rows = list(csv.DictReader(Path(__file__).with_name("steps.csv").open(encoding="utf-8")))
scale = WIDTH / float(rows[0]["ms"])

print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {TALL * len(rows) + 26}">')
for index, row in enumerate(rows):
    top, width = TALL * index + 4, scale * float(row["ms"])
    low, high = LEFT + scale * float(row["low"]), LEFT + scale * float(row["high"])
    fill = "off" if index == 0 else "a"
    print(f'<text class="end" x="{LEFT - 8}" y="{top + 17}">{row["step"]}</text>')
    print(f'<rect class="{fill}" x="{LEFT}" y="{top}" width="{width:.1f}" height="24"/>')
    print(f'<path class="line" d="M{low:.1f} {top + 12}H{high:.1f}M{low:.1f} {top + 7}v10M{high:.1f} {top + 7}v10"/>')
    print(f'<text x="{LEFT + width + 10:.1f}" y="{top + 17}">{float(row["ms"]):.1f} ms</text>')
base = TALL * len(rows) + 4
print(f'<path class="line thin" d="M{LEFT} 0V{base}"/>')
print(f'<text class="small quiet" x="{LEFT}" y="{base + 16}">time of one training step; marks are the 95 % interval of the median</text>')
print("</svg>")
