# test: figure names.svg
"""Draws the shares of CUDA's names with a HIP counterpart, by library, from names.csv."""

import csv
from pathlib import Path

LEFT, WIDTH, STEP = 120, 430, 30
rows = list(csv.DictReader(Path(__file__).with_name("names.csv").open(encoding="utf-8")))
parts = [("regular", "a", "R"), ("other name", "b", "O"), ("none", "off", "–")]
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {STEP * len(rows) + 30}">')
for index, row in enumerate(rows):
    top, total, x = 8 + STEP * index, int(row["names"]), float(LEFT)
    print(f'<text class="small" x="4" y="{top + 15}">{row["library"]}</text>')
    for key, kind, letter in parts:
        width = WIDTH * int(row[key]) / total
        print(f'<rect class="{kind}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="22"/>')
        if width > 24:
            text = "" if kind == "off" else " on"
            middle = x + width / 2
            print(f'<text class="small mid{text}" x="{middle:.1f}" y="{top + 16}">{letter}</text>')
        x += width
    share = round(100 * (total - int(row["none"])) / total)
    print(f'<text class="small" x="{LEFT + WIDTH + 10}" y="{top + 16}">{share} % of {total}</text>')
bottom = 8 + STEP * len(rows) + 14
legend = "R: cu becomes hip;  O: another name;  –: no counterpart"
print(f'<text class="small quiet" x="{LEFT}" y="{bottom}">{legend}</text>')
print("</svg>")
