# test: figure sweep.svg
"""Draws sweep.csv: how much faster one route is than another, over the rows of the input, for four weights."""

import csv
import math
from pathlib import Path

table = list(csv.reader(Path(__file__).with_name("sweep.csv").open(encoding="utf-8")))
names, rows = table[0][1:], [[float(value) for value in row] for row in table[1:]]
LEFT, TOP, WIDTH, TALL = 60, 16, 470, 210


def x(count: float) -> float:
    return LEFT + WIDTH * math.log2(count) / 13


def y(ratio: float) -> float:
    return TOP + TALL * (1.9 - ratio) / 1.2


print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 282">')
for ratio in (0.8, 1.0, 1.2, 1.4, 1.6, 1.8):
    print(f'<path class="line{"" if ratio == 1 else " thin dash"}" d="M{LEFT} {y(ratio):.1f}h{WIDTH}"/>')
    print(f'<text class="end small quiet" x="{LEFT - 8}" y="{y(ratio) + 4:.1f}">{ratio:.1f}</text>')
for count in (1, 8, 64, 512, 4096):
    print(f'<text class="mid small quiet" x="{x(count):.1f}" y="{TOP + TALL + 20}">{count}</text>')
for column, (name, letter) in enumerate(zip(names, "abcd", strict=True), 1):
    path = "L".join(f"{x(row[0]):.1f} {y(row[column]):.1f}" for row in rows)
    print(f'<path class="line-{letter}" d="M{path}"/>')
    top = TOP + 10 + 24 * column
    print(f'<rect class="{letter}" x="552" y="{top - 12}" width="14" height="14"/>')
    print(f'<text class="small" x="572" y="{top}">{letter.upper()}: {name}</text>')
    print(f'<text class="small strong" x="{x(rows[6 + column][0]):.1f}" y="{y(rows[6 + column][column]) - 6:.1f}">{letter.upper()}</text>')
print(f'<text class="mid small quiet" x="{LEFT + WIDTH / 2:g}" y="{TOP + TALL + 42}">rows of the input</text>')
print("</svg>")
