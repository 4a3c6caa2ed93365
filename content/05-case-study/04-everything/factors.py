# test: figure factors.svg
"""Draws the two factors of each speed-up over version 1, on a logarithmic axis, from steps.csv."""

import csv
import math
from pathlib import Path

rows = list(csv.DictReader(Path(__file__).with_name("steps.csv").open(encoding="utf-8")))
first = {row["size"]: row for row in rows if row["version"] == "1"}
shown = [row for row in rows if row["version"] != "1"]
LEFT, SCALE, ROW = 150, 130, 46


def x(factor: float) -> float:
    return LEFT + 60 + SCALE * math.log2(factor) * 0.75


print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {ROW * len(shown) + 62}">')
for factor in (1, 2, 4, 8, 16):
    print(f'<path class="line thin" d="M{x(factor):.0f} 26V{28 + ROW * len(shown)}"/>')
    print(f'<text class="mid small quiet" x="{x(factor):.0f}" y="18">{factor}×</text>')
for number, row in enumerate(shown):
    y = 34 + number * ROW
    base = first[row["size"]]
    work = float(base["busy_ms"]) / float(row["busy_ms"])
    total = float(base["step_ms"]) / float(row["step_ms"])
    print(f'<text class="end small" x="{LEFT - 12}" y="{y + 21}">{row["size"]}, version {row["version"]}</text>')
    for offset, factor, fill, letter in ((0, work, "a", "work"), (18, total / work, "b", "waiting")):
        left, right = sorted((x(1), x(factor)))
        print(f'<rect class="{fill}" x="{left:.0f}" y="{y + offset}" width="{max(right - left, 2):.0f}" height="15"/>')
        print(f'<text class="small" x="{right + 6:.0f}" y="{y + offset + 13}">{letter} {factor:.2f}</text>')
    print(f'<text class="end small strong" x="712" y="{y + 21}">{total:.1f}×</text>')
print(f'<text class="small quiet" x="{LEFT}" y="{ROW * len(shown) + 54}">length of a bar: the factor, on a logarithmic axis</text>')
print("</svg>")
