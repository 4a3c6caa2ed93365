# test: figure segments.svg
"""Draws which 64-byte segments the 64 lanes of one wavefront touch, for four access patterns."""

LANES, SEGMENT = 64, 64
PATTERNS = [
    ("4 bytes each, neighbours", 4, lambda lane: 4 * lane),
    ("16 bytes each, neighbours", 16, lambda lane: 16 * lane),
    ("4 bytes each, off by 8 bytes", 4, lambda lane: 8 + 4 * lane),
    ("4 bytes each, every 64 bytes", 4, lambda lane: 64 * lane),
]
LEFT, CELL = 8, 11
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {56 * len(PATTERNS) + 4}">')
for index, (name, size, address) in enumerate(PATTERNS):
    top = 56 * index + 18
    used = [0] * LANES
    for lane in range(LANES):
        for byte in range(address(lane), address(lane) + size):
            if byte // SEGMENT < LANES:
                used[byte // SEGMENT] += 1
    touched = sum(count > 0 for count in used)
    share = round(100 * sum(used) / (touched * SEGMENT))
    print(f'<text x="{LEFT}" y="{top}">{name}</text>')
    print(f'<text class="end" x="712" y="{top}">{touched} segments, {share} % used</text>')
    print(f'<rect class="off" x="{LEFT}" y="{top + 8}" width="{CELL * LANES}" height="18"/>')
    tall = [18 * count / SEGMENT for count in used]
    for segment, height in enumerate(tall):
        if height and not (segment and tall[segment - 1] == height):
            run = next((n for n in range(segment, LANES) if tall[n] != height), LANES) - segment
            x, y = LEFT + CELL * segment, top + 26 - height
            print(f'<rect class="a" x="{x}" y="{y:.1f}" width="{CELL * run}" height="{height:.1f}"/>')
print("</svg>")
