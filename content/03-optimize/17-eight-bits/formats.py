# test: figure formats.svg
"""Draws formats.csv: the bits of each format as cells of equal width."""

import csv
from pathlib import Path

LEFT, CELL, TALL = 118, 13, 34
rows = list(csv.DictReader(Path(__file__).with_name("formats.csv").open(encoding="utf-8")))
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {TALL * len(rows) + 34}">')
for index, row in enumerate(rows):
    y, x = TALL * index + 6, LEFT
    print(f'<text class="end" x="{LEFT - 8}" y="{y + 19}">{row["format"]}</text>')
    for part, fill, letter in (("sign", "d", "s"), ("exponent", "a", "e"), ("mantissa", "b", "m")):
        count = int(row[part])
        print(f'<rect class="{fill}" x="{x}" y="{y}" width="{CELL * count - 1}" height="26"/>')
        label = letter if count == 1 else f"{letter} {count}"
        if count > 2 or part == "sign":
            print(f'<text class="mid on small" x="{x + CELL * count / 2:g}" y="{y + 18}">{label}</text>')
        x += CELL * count
    print(f'<text class="small" x="{x + 10}" y="{y + 18}">up to {row["largest"]}</text>')
y = TALL * len(rows) + 24
print(f'<text class="small quiet" x="{LEFT}" y="{y}">s sign, e exponent: the range, m mantissa: the precision</text>')
print("</svg>")
