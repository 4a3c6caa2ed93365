# test: figure programs.svg
"""Draws three rows of seven columns, the program of each, and the lanes of one program with its mask."""

ROWS, COLUMNS, BLOCK, CELL, LEFT = 3, 7, 8, 58, 130
values = [[1, 4, 9, 2, 7, 0, 5], [3, 8, 6, 1, 2, 9, 4], [5, 2, 7, 3, 8, 6, 1]]
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 268">')
for row in range(ROWS):
    top = 36 * row + 6
    fill = "ab"[row == 1]
    print(f'<text class="end" x="{LEFT - 10}" y="{top + 20}">program {row}</text>')
    for column in range(COLUMNS):
        left = LEFT + CELL * column
        print(f'<rect class="{fill}" x="{left}" y="{top}" width="{CELL - 3}" height="30"/>')
        print(f'<text class="mid on" x="{left + CELL // 2 - 1}" y="{top + 20}">{values[row][column]}</text>')
print(f'<text class="small quiet" x="{LEFT + CELL * COLUMNS + 8}" y="26">x, {ROWS} × {COLUMNS}</text>')
print(f'<path class="arrow" d="M{LEFT + CELL * COLUMNS} 57H{LEFT + CELL * COLUMNS + 28}V150"/>')
for label, top in (("column", 156), ("mask", 192), ("x", 228)):
    print(f'<text class="end mono" x="{LEFT - 10}" y="{top + 20}">{label}</text>')
    for lane in range(BLOCK):
        left, inside = LEFT + CELL * lane, lane < COLUMNS
        text = {"column": str(lane), "mask": "1" if inside else "0", "x": f"{values[1][lane]}.0" if inside else "0.0"}
        fill = ("b" if inside else "off") if label == "x" else "paper"
        print(f'<rect class="{fill}" x="{left}" y="{top}" width="{CELL - 3}" height="30"/>')
        if fill == "paper":
            print(f'<path class="line thin" d="M{left} {top}h{CELL - 3}v30h-{CELL - 3}z"/>')
        tone = "mid on" if fill == "b" else "mid"
        print(f'<text class="{tone}" x="{left + CELL // 2 - 1}" y="{top + 20}">{text[label]}</text>')
print("</svg>")
