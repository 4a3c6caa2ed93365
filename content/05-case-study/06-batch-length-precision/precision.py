# test: figure precision.svg
"""Draws precision.csv: the step of versions 1 and 4 in three precisions."""

import csv
from pathlib import Path

rows = list(csv.DictReader(Path(__file__).with_name("precision.csv").open(encoding="utf-8")))
LEFT, SCALE, ROW = 100, 1.9, 70
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {ROW * len(rows) + 12}">')
for number, row in enumerate(rows):
    y = 8 + number * ROW
    first, last = float(row["version_1_ms"]), float(row["version_4_ms"])
    print(f'<text class="end strong" x="{LEFT - 12}" y="{y + 34}">{row["precision"]}</text>')
    for offset, ms, fill, name in ((0, first, "a", "version 1"), (28, last, "b", "version 4")):
        text = f"{name}: {ms:.1f} ms" + (f", {first / last:.2f}×" if offset else "")
        print(f'<rect class="{fill}" x="{LEFT}" y="{y + offset}" width="{ms * SCALE:.0f}" height="24"/>')
        print(f'<text class="small" x="{LEFT + ms * SCALE + 8:.0f}" y="{y + offset + 17}">{text}</text>')
print("</svg>")
