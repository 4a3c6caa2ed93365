# test: figure roofline.svg
"""Draws the roofline of an NVIDIA H200 with the measured points of points.csv."""

import csv
import math
from pathlib import Path

PEAK, BANDWIDTH = 989.4e12, 4.8e12  # bf16 operations and bytes a second, data sheet
LEFT, RIGHT, TOP, BOTTOM = 70, 690, 24, 330
X, Y = (math.log10(0.4), math.log10(6000)), (math.log10(0.15), math.log10(2500))


def x(intensity: float) -> float:
    return LEFT + (math.log10(intensity) - X[0]) / (X[1] - X[0]) * (RIGHT - LEFT)


def y(tflops: float) -> float:
    return BOTTOM - (math.log10(tflops) - Y[0]) / (Y[1] - Y[0]) * (BOTTOM - TOP)


ridge = PEAK / BANDWIDTH
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 380">')
for value in (1, 10, 100, 1000):
    print(f'<path d="M{x(value):.1f} {TOP} V{BOTTOM} M{LEFT} {y(value):.1f} H{RIGHT}" class="line thin dash"/>')
    print(f'<text x="{x(value):.1f}" y="{BOTTOM + 20}" class="small mid">{value}</text>')
    print(f'<text x="{LEFT - 8}" y="{y(value) + 5:.1f}" class="small end">{value}</text>')
start = 10 ** X[0]
print(f'<path d="M{x(start):.1f} {y(start * BANDWIDTH / 1e12):.1f} L{x(ridge):.1f} {y(PEAK / 1e12):.1f} H{RIGHT}" class="line-a"/>')
print(f'<path d="M{x(ridge):.1f} {y(PEAK / 1e12):.1f} V{BOTTOM}" class="line-a dash"/>')
print(f'<text x="{x(ridge) - 8:.1f}" y="{BOTTOM - 10}" class="small end">memory-bound</text>')
print(f'<text x="{x(ridge) + 8:.1f}" y="{BOTTOM - 10}" class="small">compute-bound</text>')
print(f'<text x="{x(ridge) - 8:.1f}" y="{BOTTOM - 28}" class="small end">ridge: {ridge:.0f}</text>')
print(f'<text x="{x(9):.1f}" y="{y(9 * 4.8) - 26:.1f}" class="small end">4.8 TB/s</text>')
print(f'<text x="{RIGHT}" y="{y(PEAK / 1e12) - 8:.1f}" class="small end">989 TFLOPS</text>')
for row in csv.DictReader((Path(__file__).parent / "points.csv").open(encoding="utf-8")):
    flops, size, seconds = float(row["flops"]), float(row["bytes"]), float(row["median_us"]) / 1e6
    rate, roof = flops / seconds, min(PEAK, flops / size * BANDWIDTH)
    assert abs(rate / 1e12 / float(row["tflops"]) - 1) < 0.01
    assert round(100 * rate / roof) == int(row["percent_of_roof"])
    at, up = x(flops / size), y(rate / 1e12)
    left = row["label"] == "F"
    print(f'<circle cx="{at:.1f}" cy="{up:.1f}" r="5" class="b"/>')
    words = f"{row['label']} {row['percent_of_roof']} %"
    print(f'<text x="{at + (-10 if left else 10):.1f}" y="{up + 5:.1f}" class="strong{" end" if left else ""}">{words}</text>')
print(f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" class="mid">operations per byte</text>')
print(f'<text x="14" y="{TOP - 6}">TFLOPS</text>')
print("</svg>")
