# test: figure intervals.svg
"""Draws the example intervals of intervals.csv, each as a line with its median."""

import csv
from pathlib import Path

LEFT, RIGHT, LOW, HIGH, ROW = 100, 680, 82, 114, 34


def x(us: float) -> float:
    return LEFT + (us - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


rows = list(csv.DictReader((Path(__file__).parent / "intervals.csv").open(encoding="utf-8")))
bottom = 14 + ROW * len(rows)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {bottom + 44}">')
noise = [float(row[end]) for row in rows[:2] for end in ("low_us", "high_us")]
print(f'<rect x="{x(min(noise)):.1f}" y="8" width="{x(max(noise)) - x(min(noise)):.1f}" height="{bottom - 8}" class="off"/>')
for number, row in enumerate(rows):
    y = 28 + number * ROW
    low, median, high = (x(float(row[name])) for name in ("low_us", "median_us", "high_us"))
    color = "a" if number > 1 else "b"
    print(f'<text x="{LEFT - 14}" y="{y + 5}" class="end{" strong" if number > 1 else ""}">{row["name"]}</text>')
    print(f'<path d="M{low:.1f} {y} H{high:.1f} M{low:.1f} {y - 6} V{y + 6} M{high:.1f} {y - 6} V{y + 6}" class="line-{color}"/>')
    print(f'<circle cx="{median:.1f}" cy="{y}" r="4" class="{color}"/>')
for us in range(85, 115, 5):
    print(f'<text x="{x(us):.1f}" y="{bottom + 16}" class="small mid">{us}</text>')
print(f'<text x="{(LEFT + RIGHT) / 2}" y="{bottom + 36}" class="small mid">µs per call (examples)</text>')
print("</svg>")
