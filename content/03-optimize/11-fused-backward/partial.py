# test: figure partial.svg
"""Draws 8 rows of dy·n, the 3 programs that add them, their partial sums, and the gradient."""

ROWS, PROGRAMS = [[1, 4], [2, 0], [5, 3], [0, 6], [7, 1], [2, 2], [3, 8], [4, 5]], 3
FILLS, CELL, TALL = "abc", 44, 27
partial = [[sum(row[c] for row in ROWS[p::PROGRAMS]) for c in range(2)] for p in range(PROGRAMS)]
total = [sum(row[c] for row in partial) for c in range(2)]


def cells(x: int, y: int, values: list[int], fill: str) -> None:
    for index, value in enumerate(values):
        left = x + CELL * index
        print(f'<rect class="{fill}" x="{left}" y="{y}" width="{CELL - 3}" height="{TALL - 4}"/>')
        print(f'<text class="mid on" x="{left + CELL // 2 - 1}" y="{y + 17}">{value}</text>')


print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {TALL * len(ROWS) + 34}">')
for name, x in (("dy · n, a row each", 8), ("program", 172), ("partial sums", 322), ("dweight", 560)):
    print(f'<text class="small quiet" x="{x}" y="16">{name}</text>')
for index, row in enumerate(ROWS):
    program, y = index % PROGRAMS, 26 + TALL * index
    cells(8, y, row, FILLS[program])
    print(f'<text class="small" x="106" y="{y + 17}">row {index}</text>')
    print(f'<text class="mid small" x="196" y="{y + 17}">{program}</text>')
for program, values in enumerate(partial):
    y = 26 + TALL * (1 + 2 * program)
    print(f'<path class="arrow" d="M222 {y + 11}H312"/>')
    print(f'<text class="small" x="226" y="{y + 5}">registers</text>')
    cells(322, y, values, FILLS[program])
    print(f'<path class="arrow" d="M418 {y + 11}L548 {26 + TALL * 3 + 11}"/>')
cells(560, 26 + TALL * 3, total, "d")
print("</svg>")
