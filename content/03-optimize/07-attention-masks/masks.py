# test: figure masks.svg
"""Draws five masks: which of the keys (columns) each query (row) sees."""

CELL = 22


def tril(queries: int, keys: int, diagonal: int) -> list[list[bool]]:
    return [[key <= query + diagonal for key in range(keys)] for query in range(queries)]


MASKS = [
    ("causal, square", "is_causal=True", tril(5, 5, 0)),
    ("upper left", "is_causal=True", tril(2, 5, 0)),
    ("lower right", "what a cache needs", tril(2, 5, 3)),
    ("decode", "no mask", [[True] * 5]),
    ("padding", "mask, or skip it", [[key < 3 for key in range(5)] for _ in range(5)]),
]
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 184">')
for index, (name, call, rows) in enumerate(MASKS):
    left = 8 + 143 * index
    print(f'<text class="strong" x="{left}" y="18">{name}</text>')
    for query, row in enumerate(rows):
        for key, seen in enumerate(row):
            x, y = left + CELL * key, 30 + CELL * query
            print(f'<rect class="{"a" if seen else "off"}" x="{x}" y="{y}" width="20" height="20"/>')
            if seen:
                print(f'<path class="line thin" d="M{x + 6} {y + 10}l3 4l6-8"/>')
    print(f'<text class="small" x="{left}" y="162">{call}</text>')
print('<text class="small quiet" x="8" y="181">rows: queries; columns: keys; ticked: visible</text>')
print("</svg>")
