# test: figure memory.svg
"""Draws the peak memory of a training step as two parts, from memory.csv."""

import csv
from pathlib import Path

LEFT, SCALE, ROW = 110, 560 / 13500, 58
rows = list(csv.DictReader((Path(__file__).parent / "memory.csv").open(encoding="utf-8")))
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {40 + ROW * len(rows)}">')
print(f'<rect x="{LEFT}" y="6" width="16" height="16" class="a"/>')
print(f'<text x="{LEFT + 24}" y="19" class="small">A: saved for the backward</text>')
print(f'<rect x="{LEFT + 220}" y="6" width="16" height="16" class="b"/>')
print(f'<text x="{LEFT + 244}" y="19" class="small">B: the rest: parameters, optimizer, temporary tensors</text>')
for number, row in enumerate(rows):
    saved, rest, peak = (int(row[name]) for name in ("saved_mib", "rest_mib", "peak_mib"))
    assert saved + rest == peak
    y = 40 + number * ROW
    print(f'<text x="{LEFT - 12}" y="{y + 24}" class="strong end">{row["version"]}</text>')
    print(f'<rect x="{LEFT}" y="{y}" width="{saved * SCALE:.1f}" height="38" class="a"/>')
    print(f'<text x="{LEFT + saved * SCALE / 2:.1f}" y="{y + 24}" class="small mid on">A {saved}</text>')
    print(f'<rect x="{LEFT + saved * SCALE:.1f}" y="{y}" width="{rest * SCALE:.1f}" height="38" class="b"/>')
    print(f'<text x="{LEFT + (saved + rest / 2) * SCALE:.1f}" y="{y + 24}" class="small mid on">B {rest}</text>')
    if peak < 9000:
        print(f'<text x="{LEFT + peak * SCALE + 12:.1f}" y="{y + 24}" class="small">peak {peak} MiB</text>')
print("</svg>")
