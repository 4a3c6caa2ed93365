# test: figure errors.svg
"""Draws the RMS errors of errors.csv beside the limit of each dtype, on a logarithmic axis."""

import csv
import math
from pathlib import Path

LEFT, RIGHT, LOW, HIGH = 110, 680, -8, -1


def x(error: float) -> float:
    return LEFT + (math.log10(error) - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


rows = list(csv.DictReader((Path(__file__).parent / "errors.csv").open(encoding="utf-8")))
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 258">')
for number, dtype in enumerate(("float32", "bfloat16")):
    y = 80 + number * 100
    print(f'<text x="{LEFT - 16}" y="{y + 5}" class="strong end">{dtype}</text>')
    print(f'<path d="M{LEFT} {y} H{RIGHT}" class="line thin"/>')
    for row in (row for row in rows if row["dtype"] == dtype):
        at, name = x(float(row["rms_error"])), row["kernel"]
        if name == "limit":
            print(f'<path d="M{at:.1f} {y - 40} V{y + 14}" class="line-d"/>')
            print(f'<text x="{at - 6:.1f}" y="{y - 36}" class="small end">limit</text>')
            continue
        wrong = name.startswith("a quarter")
        print(f'<circle cx="{at:.1f}" cy="{y}" r="5" class="{"b" if wrong else "a"}"/>')
        below = name == "nn.RMSNorm" or wrong
        place = "end" if name == "nn.RMSNorm" else "" if not wrong else "mid"
        shift = y + 24 if below else y - 12
        words = "quarter of the row" if wrong else name
        print(f'<text x="{min(at, 610) + (0 if wrong else 4):.1f}" y="{shift}" class="small {place or "end"}">{words}</text>')
for power in range(LOW, HIGH + 1):
    print(f'<path d="M{x(10**power):.1f} 210 V216" class="line thin"/>')
    print(f'<text x="{x(10**power):.1f}" y="232" class="small mid">1e{power}</text>')
print(f'<text x="{LEFT}" y="248" class="small">RMS error against float64</text>')
print("</svg>")
