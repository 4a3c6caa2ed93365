# test: figure blocks.svg
"""Draws which elements of a tensor of 3 rows and 100 columns the three programs load without a mask."""

COLUMNS, ROWS, BLOCK = 100, 3, 128
LEFT, SCALE = 104, 1.8


def x(element: int) -> float:
    return LEFT + SCALE * element


print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 172">')
print('<text x="0" y="43">memory</text>')
for row in range(ROWS):
    middle = x(row * COLUMNS + COLUMNS // 2)
    print(f'<rect class="off" x="{x(row * COLUMNS):.1f}" y="26" width="{SCALE * COLUMNS - 2:.1f}" height="24"/>')
    print(f'<text class="mid" x="{middle:.1f}" y="43">row {row}</text>')
end = x(ROWS * COLUMNS)
print(f'<text class="small" x="{LEFT}" y="16">byte 0</text>')
print(f'<text class="small mid" x="{end:.1f}" y="16">byte 1200</text>')
print(f'<path class="line dash" d="M{end:.1f} 22 V166"/>')
for row in range(ROWS):
    top, start = 64 + 36 * row, row * COLUMNS
    print(f'<text x="0" y="{top + 17}">program {row}</text>')
    print(f'<rect class="a" x="{x(start):.1f}" y="{top}" width="{SCALE * COLUMNS:.1f}" height="24"/>')
    print(f'<text class="mid on" x="{x(start + COLUMNS // 2):.1f}" y="{top + 17}">its row</text>')
    extra = SCALE * (BLOCK - COLUMNS)
    print(f'<rect class="b" x="{x(start + COLUMNS):.1f}" y="{top}" width="{extra:.1f}" height="24"/>')
    letter = "B" if row == ROWS - 1 else "A"
    print(f'<text class="mid on" x="{x(start + COLUMNS) + extra / 2:.1f}" y="{top + 17}">{letter}</text>')
print("</svg>")
