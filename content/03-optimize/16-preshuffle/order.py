# test: figure order.svg
"""Draws one tile of 16 rows and 32 columns: the number of each chunk of 8 elements in memory."""

CELL, TALL = 78, 20
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {TALL * 9 + 72}">')
for side, (title, left) in enumerate((("plain", 52), ("shuffled", 398))):
    print(f'<text class="strong" x="{left}" y="16">{title}</text>')
    for group in range(4):
        text = f"{8 * group} to {8 * group + 7}"
        print(f'<text class="mid small quiet" x="{left + CELL * group + 38}" y="36">{text}</text>')
    for line, row in enumerate((0, 1, 2, 3, None, 14, 15)):
        y = 44 + (TALL + 4) * line
        if row is None:
            print(f'<text class="mid" x="{left + CELL * 2}" y="{y + 14}">…</text>')
            continue
        if side == 0:
            print(f'<text class="end small quiet" x="{left - 6}" y="{y + 15}">row {row}</text>')
        for group in range(4):
            number = 4 * row + group if side == 0 else 16 * group + row
            print(f'<rect class="{"abcd"[number // 16]}" x="{left + CELL * group}" y="{y}" width="{CELL - 3}" height="{TALL}"/>')
            print(f'<text class="mid on small" x="{left + CELL * group + 38}" y="{y + 15}">{number}</text>')
y = TALL * 9 + 60
print(f'<text class="small quiet" x="52" y="{y}">number: place in memory, in chunks of 16 bytes (plain: rows of 32 columns)</text>')
print("</svg>")
