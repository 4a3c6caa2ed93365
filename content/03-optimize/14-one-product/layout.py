# test: figure layout.svg
"""Draws the joined weight of a layer with 32 query heads and 8 heads of keys, and its result."""

PARTS = [("q", 4096, "a"), ("k", 1024, "b"), ("v", 1024, "c")]
TOTAL = sum(size for _, size, _ in PARTS)
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 272">')
print('<text class="small quiet" x="96" y="16">weight</text>')
top, begin = 24.0, 0
for name, size, fill in PARTS:
    tall = 216 * size / TOTAL
    print(f'<rect class="{fill}" x="96" y="{top:.1f}" width="110" height="{tall - 2:.1f}"/>')
    print(f'<text class="mid on" x="151" y="{top + tall / 2 + 4:.1f}">{name}_proj</text>')
    print(f'<text class="end small" x="90" y="{top + 12:.1f}">{begin}</text>')
    top, begin = top + tall, begin + size
print(f'<text class="end small" x="90" y="{top + 4:.1f}">{begin}</text>')
print('<text class="mid small quiet" x="151" y="262">4096 columns</text>')
print('<text class="small quiet" x="290" y="16">result: one row of 6144 elements a token</text>')
for token in range(3):
    left, y = 290.0, 24 + 34 * token
    for name, size, fill in PARTS:
        wide = 400 * size / TOTAL
        print(f'<rect class="{fill}" x="{left:.1f}" y="{y}" width="{wide - 2:.1f}" height="28"/>')
        print(f'<text class="mid on small" x="{left + wide / 2:.1f}" y="{y + 19}">{name}</text>')
        left += wide
    print(f'<text class="end small" x="282" y="{y + 19}">token {token}</text>')
print('<path class="arrow" d="M424 130V158"/>')
print('<text x="290" y="178">q is a view: from one token to the next,</text>')
print('<text x="290" y="198">6144 elements; from one head to the next, 128.</text>')
print('<text x="290" y="224">A kernel that expects neighbours only</text>')
print('<text x="290" y="244">would copy q, and the gain would be lost.</text>')
print("</svg>")
