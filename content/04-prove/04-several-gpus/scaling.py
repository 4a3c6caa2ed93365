# test: figure scaling.svg
"""Draws the parts of a training step on several GPUs, from scaling.csv."""

import csv
from pathlib import Path

LEFT, SCALE, ROW = 150, 5.4, 46
PARTS = (("a", "A: alone"), ("b", "B: sharing the host"), ("c", "C: averaging gradients"))
rows = list(csv.DictReader((Path(__file__).parent / "scaling.csv").open(encoding="utf-8")))
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {44 + ROW * len(rows)}">')
for number, (color, words) in enumerate(PARTS):
    x = LEFT + number * 170
    print(f'<rect x="{x}" y="6" width="16" height="16" class="{color}"/>')
    print(f'<text x="{x + 22}" y="19" class="small">{words}</text>')
for number, row in enumerate(rows):
    y = 40 + number * ROW
    alone, uncoupled, together = (float(row[name]) for name in ("alone_ms", "uncoupled_ms", "together_ms"))
    assert abs(100 * alone / together - float(row["efficiency_percent"])) < 0.1
    print(f'<text x="{LEFT - 12}" y="{y + 20}" class="end small">{row["version"]}, {row["processes"]} GPUs</text>')
    at = LEFT
    for (color, _), ms in zip(PARTS, (alone, uncoupled - alone, together - uncoupled), strict=True):
        print(f'<rect x="{at:.1f}" y="{y}" width="{ms * SCALE:.1f}" height="30" class="{color}"/>')
        at += ms * SCALE
    print(f'<text x="{at + 10:.1f}" y="{y + 20}" class="small">{together:.1f} ms, {float(row["efficiency_percent"]):.0f} %</text>')
print("</svg>")
