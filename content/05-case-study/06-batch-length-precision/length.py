# test: figure length.svg
"""Draws length.csv: tokens per second over the sequence length, with intervals, on two logarithmic axes."""

import csv
import math
from pathlib import Path

BATCH = 4
LEFT, TOP, STEP, TALL = 100, 20, 160, 56
rows = [
    {name: float(value) for name, value in row.items()}
    for row in csv.DictReader(Path(__file__).with_name("length.csv").open(encoding="utf-8"))
]


def x(length: float) -> float:
    return LEFT + 16 + STEP * math.log2(length / 128)


def y(thousands: float) -> float:
    return TOP + TALL * (7 - math.log2(thousands))


def thousands(row: dict[str, float], ms: str) -> float:
    """Tokens per second, in thousands: tokens per millisecond."""
    return BATCH * row["length"] / row[ms]


print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 296">')
for rate in (8, 16, 32, 64, 128):
    print(f'<path class="line thin" d="M{LEFT} {y(rate):.0f}h{3 * STEP + 32}"/>')
    print(f'<text class="end small quiet" x="{LEFT - 8}" y="{y(rate) + 4:.0f}">{rate},000</text>')
for version, stroke, fill, shift in ((1, "line-a", "a", -4), (2, "line-b", "b", 4)):
    own = [row for row in rows if row["version"] == version]
    path = "L".join(f"{x(row['length']) + shift:.1f} {y(thousands(row, 'step_ms')):.1f}" for row in own)
    print(f'<path class="{stroke}{" dash" if version == 2 else ""}" d="M{path}"/>')
    for row in own:
        a = x(row["length"]) + shift
        low, high = y(thousands(row, "high_ms")), y(thousands(row, "low_ms"))
        print(f'<path class="{stroke}" d="M{a:.1f} {low:.1f}V{high:.1f}"/>')
        print(f'<circle class="{fill}" cx="{a:.1f}" cy="{y(thousands(row, "step_ms")):.1f}" r="4"/>')
    last = own[-1]
    print(f'<text class="small" x="{x(1024) + 14}" y="{y(thousands(last, "step_ms")) + 5:.0f}">version {version}</text>')
for length in (128, 256, 512, 1024):
    print(f'<text class="mid small quiet" x="{x(length):.0f}" y="{y(8) + 20:.0f}">{length}</text>')
print(f'<text class="mid small quiet" x="{x(362):.0f}" y="{y(8) + 40:.0f}">sequence length; tokens/s, vertical bars: 95 % intervals</text>')
print("</svg>")
