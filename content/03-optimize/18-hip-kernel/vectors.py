# test: figure vectors.svg
"""Draws which thread loads which vector of a block, for 8 threads and 2 vectors each, in two orders."""

THREADS, VECTORS, CELL = 8, 2, 42
ORDERS = [
    ("A: index = v * threads + thread", lambda thread, v: v * THREADS + thread),
    ("B: index = thread * VECTORS + v", lambda thread, v: thread * VECTORS + v),
]
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 690 212">')
for panel, (name, order) in enumerate(ORDERS):
    top = 18 + 106 * panel
    print(f'<text class="strong mono small" x="8" y="{top}">{name}</text>')
    owner = {order(t, v): (t, v) for t in range(THREADS) for v in range(VECTORS)}
    for vector, (thread, v) in sorted(owner.items()):
        x = 8 + CELL * vector
        kind, text = ("a", " on") if v == 0 else ("off", "")
        print(f'<rect class="{kind}" x="{x}" y="{top + 10}" width="{CELL - 2}" height="30"/>')
        print(f'<text class="small mid{text}" x="{x + 20}" y="{top + 30}">t{thread}</text>')
    for segment in range(0, THREADS * VECTORS, 4):  # 4 vectors of 16 bytes are 64 bytes
        x, loaded = 8 + CELL * segment, sum(owner[i][1] == 0 for i in range(segment, segment + 4))
        print(f'<path class="line thin" d="M{x} {top + 46} h{4 * CELL - 2}"/>')
        used = f"{loaded} of 4 in load 0"
        print(f'<text class="small mid" x="{x + 2 * CELL - 1}" y="{top + 64}">{used}</text>')
print("</svg>")
