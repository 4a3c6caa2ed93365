# test: figure options.svg
"""Draws options.csv: which options of the guide change something."""

import csv
from pathlib import Path

rows = list(csv.reader(Path(__file__).with_name("options.csv").open(encoding="utf-8")))[1:]
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {27 * len(rows) + 6}">')
for index, (option, changes, purpose) in enumerate(rows):
    y, active = 27 * index + 4, changes.startswith("yes")
    print(f'<rect class="{"a" if active else "off"}" x="8" y="{y}" width="96" height="22"/>')
    print(f'<text class="mid small{" on" if active else ""}" x="56" y="{y + 16}">{"changes" if active else "no effect"}</text>')
    print(f'<text class="mono small" x="114" y="{y + 16}">{option}</text>')
    note = purpose or changes.partition("(")[2].rstrip(")")
    print(f'<text class="small quiet" x="430" y="{y + 16}">{note}</text>')
print("</svg>")
