# test: figure decode.svg
"""Draws decode.csv: time of a token with its interval, on a logarithmic axis."""

import csv
import math
from pathlib import Path

rows = list(csv.DictReader(Path(__file__).with_name("decode.csv").open(encoding="utf-8")))
LEFT, TOP, ROW, DECADE = 150, 50, 36, 210


def x(ms: float) -> float:
    return LEFT + DECADE * (math.log10(ms) + 1.3)


bottom = TOP + ROW * len(rows)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {bottom + 30}">')
for ms in (0.1, 1, 10):
    print(f'<path class="line thin" d="M{x(ms):.0f} {TOP - 6}V{bottom}"/>')
    print(f'<text class="mid small quiet" x="{x(ms):.0f}" y="{bottom + 18}">{ms:g} ms</text>')
floor = float(rows[0]["memory_roofline_ms"])
print(f'<path class="line-b dash" d="M{x(floor):.0f} {TOP - 6}V{bottom}"/>')
print(f'<text class="small" x="{x(floor) - 20:.0f}" y="{TOP - 16}">weights read once: {floor:.3f} ms</text>')
for number, row in enumerate(rows):
    y = TOP + number * ROW + 14
    low, middle, high = (float(row[name]) for name in ("low_ms", "token_ms", "high_ms"))
    print(f'<text class="end small" x="{LEFT - 14}" y="{y + 5}">version {row["version"]}, batch {row["batch_size"]}</text>')
    print(f'<path class="line-a" d="M{x(low):.1f} {y}H{x(high):.1f}"/>')
    print(f'<circle class="a" cx="{x(middle):.1f}" cy="{y}" r="5"/>')
    text = f"{middle:.2f} ms, {float(row['tokens_per_s']):,.0f} tokens/s"
    near, side = (x(high) + 12, "") if middle < 5 else (x(low) - 12, "end ")
    print(f'<text class="{side}small" x="{near:.0f}" y="{y + 5}">{text}</text>')
print("</svg>")
