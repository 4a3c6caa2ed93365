# test: figure frames.svg
"""Draws the online softmax of four scores in two tiles, with the running maximum and sums."""

import math

SCORES, VALUES, TILE = [1.0, 3.0, 4.0, 2.0], [10.0, 20.0, 30.0, 40.0], 2
m, l, o = -math.inf, 0.0, 0.0
frames = [("before", None, m, l, o, "")]
for start in range(0, len(SCORES), TILE):
    scores, values = SCORES[start : start + TILE], VALUES[start : start + TILE]
    new = max(m, *scores)
    factor = math.exp(m - new)
    weights = [math.exp(score - new) for score in scores]
    l = l * factor + sum(weights)
    o = o * factor + sum(weight * value for weight, value in zip(weights, values, strict=True))
    m = new
    frames.append((f"tile {start // TILE + 1}", start, m, l, o, f"old sums × {factor:.3f}"))
exact = [math.exp(score - 4) for score in SCORES]
expected = sum(weight * value for weight, value in zip(exact, VALUES, strict=True)) / sum(exact)
assert abs(o / l - expected) < 1e-12

print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 216">')
for index, (name, start, m, l, o, note) in enumerate(frames):
    left = 8 + 240 * index
    print(f'<text class="strong" x="{left}" y="18">{name}</text>')
    for row, (label, numbers) in enumerate((("score", SCORES), ("v", VALUES))):
        for key, number in enumerate(numbers):
            x, y = left + 44 + 44 * key, 30 + 34 * row
            now = start is not None and start <= key < start + TILE
            fill = "a" if now else "off"
            print(f'<rect class="{fill}" x="{x}" y="{y}" width="41" height="28"/>')
            print(f'<text class="mid small{" on" if now else ""}" x="{x + 20}" y="{y + 19}">{number:g}</text>')
        print(f'<text class="small quiet" x="{left}" y="{49 + 34 * row}">{label}</text>')
    for row, (label, number) in enumerate((("m", m), ("l", l), ("o", o))):
        text = f"{number:.3f}" if math.isfinite(number) else "-∞"
        print(f'<text class="mono" x="{left}" y="{128 + 22 * row}">{label} = {text}</text>')
    if note:
        print(f'<text class="small quiet" x="{left + 104}" y="128">{note}</text>')
print(f'<text x="8" y="208">result: o / l = {o / l:.3f}, equal to the softmax over all four scores</text>')
print("</svg>")
