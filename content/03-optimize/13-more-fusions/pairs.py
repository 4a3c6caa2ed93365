# test: figure pairs.svg
"""Draws which features of a head form a pair in the two layouts of rotary embeddings."""

FEATURES, CELL, LEFT = 8, 66, 150
LAYOUTS = [("interleaved", [index // 2 for index in range(FEATURES)]), ("halves", [index % 4 for index in range(FEATURES)])]
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 176">')
print(f'<text class="small quiet" x="{LEFT}" y="16">feature of a head</text>')
for index in range(FEATURES):
    print(f'<text class="mid small" x="{LEFT + CELL * index + 31}" y="36">{index}</text>')
for row, (name, pairs) in enumerate(LAYOUTS):
    y = 46 + 56 * row
    print(f'<text class="end" x="{LEFT - 10}" y="{y + 25}">{name}</text>')
    for index, pair in enumerate(pairs):
        x = LEFT + CELL * index
        print(f'<rect class="{"abcd"[pair]}" x="{x}" y="{y}" width="{CELL - 4}" height="38"/>')
        print(f'<text class="mid on" x="{x + 31}" y="{y + 24}">pair {pair}</text>')
print(f'<text class="small quiet" x="{LEFT}" y="168">the two features of a pair are rotated by the same angle</text>')
print("</svg>")
