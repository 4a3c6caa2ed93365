# test: figure lengths.svg
"""Draws lengths.csv: memory that the forward keeps for the backward, over the sequence length."""

import csv
from pathlib import Path

rows = [
    [float(value) for value in row]
    for row in list(csv.reader(Path(__file__).with_name("lengths.csv").open(encoding="utf-8")))[1:]
]
LEFT, TOP, WIDTH, TALL = 90, 20, 520, 200


def x(length: float) -> float:
    return LEFT + WIDTH * length / 1024


def y(size: float) -> float:
    return TOP + TALL * (1 - size / 8192)


print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 272">')
for size in (0, 2048, 4096, 6144, 8192):
    print(f'<path class="line thin" d="M{LEFT} {y(size):.1f}h{WIDTH}"/>')
    print(f'<text class="end small quiet" x="{LEFT - 8}" y="{y(size) + 4:.1f}">{size // 1024} GiB</text>')
for length, *_ in rows:
    print(f'<text class="mid small quiet" x="{x(length):.1f}" y="{TOP + TALL + 20}">{length:.0f}</text>')
CURVES = ((1, "line-a", "a", "scores in memory", 840), (2, "line-b dash", "b", "flash attention", 980))
for column, stroke, fill, name, at in CURVES:
    path = "L".join(f"{x(row[0]):.1f} {y(row[column]):.1f}" for row in rows)
    print(f'<path class="{stroke}" d="M{path}"/>')
    for row in rows:
        print(f'<circle class="{fill}" cx="{x(row[0]):.1f}" cy="{y(row[column]):.1f}" r="4"/>')
    print(f'<text class="end small" x="{x(at):.1f}" y="{y(rows[-1][column] * 0.9) - 8:.1f}">{name}</text>')
print(f'<text class="mid small quiet" x="{LEFT + WIDTH // 2}" y="{TOP + TALL + 42}">sequence length</text>')
print("</svg>")
