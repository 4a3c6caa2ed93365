# test: figure growth.svg
"""Draws growth.csv on two logarithmic axes: memory saved for the backward, over the length, with the exponents."""

import csv
import math
from itertools import pairwise
from pathlib import Path

rows = [
    {name: float(value) for name, value in row.items()}
    for row in csv.DictReader(Path(__file__).with_name("growth.csv").open(encoding="utf-8"))
]
LEFT, TOP, STEP, TALL = 96, 22, 160, 64  # units per doubling of the length and of the memory


def x(length: float) -> float:
    return LEFT + STEP * math.log2(length / 128)


def y(mib: float) -> float:
    return TOP + TALL * (13 - math.log2(mib))


print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 326">')
for power in range(9, 14):
    print(f'<path class="line thin" d="M{LEFT} {y(2**power):.0f}h{3 * STEP}"/>')
    print(f'<text class="end small quiet" x="{LEFT - 8}" y="{y(2**power) + 4:.0f}">{2**power} MiB</text>')
for row in rows:
    print(f'<text class="mid small quiet" x="{x(row["length"]):.0f}" y="{y(512) + 20:.0f}">{row["length"]:.0f}</text>')
for column, stroke, fill, name, side in (
    ("version_1_saved_mib", "line-a", "a", "version 1", -12),
    ("version_2_saved_mib", "line-b dash", "b", "version 2, not compiled", 24),
):
    points = [(x(row["length"]), y(row[column])) for row in rows]
    print(f'<path class="{stroke}" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in points)}"/>')
    for a, b in points:
        print(f'<circle class="{fill}" cx="{a:.1f}" cy="{b:.1f}" r="4"/>')
    for first, second in pairwise(rows):
        exponent = math.log(second[column] / first[column]) / math.log(second["length"] / first["length"])
        a = (x(first["length"]) + x(second["length"])) / 2
        b = (y(first[column]) + y(second[column])) / 2 + side
        print(f'<text class="mid small strong" x="{a:.0f}" y="{b:.0f}">{exponent:.2f}</text>')
    print(f'<text class="small" x="{points[-1][0] + 10:.0f}" y="{points[-1][1] + 5:.0f}">{name.split(",")[0]}</text>')
print(f'<text class="mid small quiet" x="{LEFT + 1.5 * STEP:.0f}" y="{y(512) + 40:.0f}">sequence length; numbers at the lines: exponents</text>')
print("</svg>")
