# test: figure layout.svg
"""Draws the keys of one layer in memory while three tokens are decoded: a cache that grows, and one of fixed size."""

CELL, LEFT, LENGTH = 34, 124, 8
STEPS = ((4, "token 5"), (5, "token 6"), (6, "token 7"))

print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 350">')
for block, (title, top) in enumerate((("growing: a new tensor for each token", 22), ("fixed: written in place, the rest is hidden", 182))):
    print(f'<text class="strong" x="8" y="{top}">{title}</text>')
    for row, (filled, name) in enumerate(STEPS):
        y = top + 12 + row * 44
        # A longer tensor is another allocation: it begins elsewhere.
        left = LEFT + (row * 92 if block == 0 else 0)
        print(f'<text class="small" x="8" y="{y + 22}">{name}</text>')
        for cell in range(LENGTH if block else filled + 1):
            x = left + cell * CELL
            if cell < filled:
                fill, letter = ("b", "c") if block == 0 else ("a", "k")
            elif cell == filled:
                fill, letter = "c", "n"
            else:
                fill, letter = "off", ""
            print(f'<rect class="{fill}" x="{x}" y="{y}" width="{CELL - 4}" height="32"/>')
            if letter:
                print(f'<text class="mid small on" x="{x + 15}" y="{y + 21}">{letter}</text>')
        note = f"{filled} copied, 1 new" if block == 0 else f"1 new, {LENGTH - filled - 1} hidden"
        end = left + (LENGTH if block else filled + 1) * CELL
        print(f'<text class="small quiet" x="{end + 8}" y="{y + 21}">{note}</text>')
print('<text class="small quiet" x="8" y="342">n: new key; c: copied; k: in its place already; empty: hidden by the mask</text>')
print("</svg>")
