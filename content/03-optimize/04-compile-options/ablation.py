# test: figure ablation.svg
"""Draws ablation.csv: the interval of each option's speed relative to the defaults, and the noise of its run as a band."""

import csv
from pathlib import Path

LEFT, RIGHT, LOW, HIGH, ROW = 296, 700, 0.94, 1.08, 26
CONTROL = "defaults, again"
SHORT = {
    "aggressive_fusion=True coordinate_descent_tuning=True freezing=True shape_padding=False": "these four together",
    "epilogue_fusion=False max_autotune=True": "max_autotune, no epilogue_fusion",
}


def x(ratio: float) -> float:
    return LEFT + (ratio - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


rows = list(csv.DictReader(Path(__file__).with_name("ablation.csv").open(encoding="utf-8")))
low, high = "95 % low", "95 % high"
bottom = 0
shown = []
for run in ("1", "2"):
    single = [row for row in rows if row["run"] == run and (" " not in row["options"] or row["options"] in SHORT)]
    control = next(row for row in rows if row["run"] == run and row["options"] == CONTROL)
    noise = max(float(control[high]), 1 / float(control[low]))
    # Run 2 repeats two options of run 1; only its new ones are drawn.
    shown.append((noise, [row for row in single if run == "1" or "max_autotune" in row["options"]] + [control]))
height = sum(ROW * len(group) + 12 for _, group in shown) + 44
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}">')
top = 6
for noise, group in shown:
    end = top + ROW * len(group)
    print(f'<rect class="off" x="{x(1 / noise):.1f}" y="{top}" width="{x(noise) - x(1 / noise):.1f}" height="{end - top}"/>')
    for index, row in enumerate(group):
        y = top + ROW * index + ROW // 2
        color = "b" if row["options"] == CONTROL else "a"
        a, b = x(float(row[low])), x(float(row[high]))
        label = SHORT.get(row["options"], row["options"])
        print(f'<text class="small end" x="{LEFT - 14}" y="{y + 4}">{label}</text>')
        print(f'<path class="line-{color}" d="M{a:.1f} {y} H{b:.1f} M{a:.1f} {y - 5} V{y + 5} M{b:.1f} {y - 5} V{y + 5}"/>')
    top = end + 12
print(f'<path class="line thin" d="M{x(1):.1f} 6 V{top - 12}"/>')
for hundredths in range(94, 109, 2):
    print(f'<text class="small mid" x="{x(hundredths / 100):.1f}" y="{top + 8}">{hundredths / 100:.2f}</text>')
print(f'<text class="small mid" x="{(LEFT + RIGHT) / 2}" y="{top + 28}">times as fast as the default options</text>')
print("</svg>")
