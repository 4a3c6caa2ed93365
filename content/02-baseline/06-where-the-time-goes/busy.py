# test: figure busy.svg
"""Draws the share of a training step in which the GPU runs kernels, from busy.csv."""

import csv
from pathlib import Path

LEFT, WIDTH, ROW = 190, 470, 62
NAMES = {
    ("v1", "medium"): "Version 1, medium",
    ("v1", "small"): "Version 1, small",
    ("v4", "small"): "Version 4, small",
}

rows = list(csv.DictReader((Path(__file__).parent / "busy.csv").open(encoding="utf-8")))
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {ROW * len(rows) + 34}">')
for number, row in enumerate(rows):
    y = 10 + number * ROW
    share = float(row["busy_ms"]) / float(row["step_ms"])
    assert round(100 * share) == int(row["percent"])
    print(f'<text x="{LEFT - 12}" y="{y + 16}" class="strong end">{NAMES[row["version"], row["size"]]}</text>')
    print(f'<text x="{LEFT - 12}" y="{y + 34}" class="small quiet end">{float(row["step_ms"]):.1f} ms, {row["launches"]} launches</text>')
    print(f'<rect x="{LEFT}" y="{y}" width="{WIDTH * share:.1f}" height="36" class="a"/>')
    print(f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="36" class="line"/>')
    inside = share > 0.3
    x = LEFT + 12 if inside else LEFT + WIDTH * share + 12
    print(f'<text x="{x:.1f}" y="{y + 23}"{" class=" + chr(34) + "on" + chr(34) if inside else ""}>GPU busy {row["percent"]} %</text>')
    if not inside:
        print(f'<text x="{LEFT + WIDTH - 12}" y="{y + 23}" class="end quiet">GPU idle</text>')
y = 10 + ROW * len(rows) + 4
print(f'<text x="{LEFT}" y="{y}" class="small">start of the step</text>')
print(f'<text x="{LEFT + WIDTH}" y="{y}" class="small end">end of the step</text>')
print("</svg>")
