# test: figure speedups.svg
"""Draws the example speed-ups of speedups.csv beside a required speed-up of 1.3."""

import csv
from pathlib import Path

LEFT, RIGHT, LOW, HIGH, ROW, REQUIRED = 70, 560, 1.2, 1.5, 44, 1.3


def x(speedup: float) -> float:
    return LEFT + (speedup - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


rows = list(csv.DictReader((Path(__file__).parent / "speedups.csv").open(encoding="utf-8")))
bottom = 30 + ROW * len(rows)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {bottom + 40}">')
print(f'<path d="M{x(REQUIRED):.1f} 22 V{bottom}" class="line dash"/>')
print(f'<text x="{x(REQUIRED):.1f}" y="15" class="small mid">required: 1.3×</text>')
for number, row in enumerate(rows):
    y = 50 + number * ROW
    low, middle, high = (x(float(row[name])) for name in ("low", "speedup", "high"))
    passes = float(row["low"]) >= REQUIRED
    assert (row["outcome"] == "passes") == passes
    color = "a" if passes else "b"
    print(f'<text x="{LEFT - 24}" y="{y + 5}" class="strong end">{row["version"]}</text>')
    print(f'<path d="M{low:.1f} {y} H{high:.1f} M{low:.1f} {y - 7} V{y + 7} M{high:.1f} {y - 7} V{y + 7}" class="line-{color}"/>')
    print(f'<circle cx="{middle:.1f}" cy="{y}" r="5" class="{color}"/>')
    print(f'<text x="{RIGHT + 30}" y="{y + 5}">{row["outcome"]}</text>')
for tenth in range(12, 16):
    print(f'<text x="{x(tenth / 10):.1f}" y="{bottom + 16}" class="small mid">{tenth / 10}×</text>')
print(f'<text x="{(LEFT + RIGHT) / 2}" y="{bottom + 36}" class="small mid">speed-up over the baseline (examples)</text>')
print("</svg>")
