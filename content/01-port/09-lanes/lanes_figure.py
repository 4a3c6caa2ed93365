# test: figure lanes.svg
"""Draws which lanes a butterfly of XOR shuffles combines, for 8 lanes, from 4 down and from 2 down."""

LANES, CELL = 8, 40
VALUES = [1, 2, 4, 8, 16, 32, 64, 128]  # a sum shows which values are in it


def butterfly(first: int) -> list[list[int]]:
    rows, distance = [VALUES], first
    while distance:
        last = rows[-1]
        rows.append([last[lane] + last[lane ^ distance] for lane in range(LANES)])
        distance //= 2
    return rows


def panel(left: int, name: str, first: int) -> list[str]:
    lines = [f'<text class="small strong" x="{left}" y="16">{name}</text>']
    for step, row in enumerate(butterfly(first)):
        y = 26 + step * 50
        if step:
            d = first >> (step - 1)
            lines.append(f'<text class="small quiet" x="{left}" y="{y - 6}">+ lane ^ {d}</text>')
        for lane, value in enumerate(row):
            x = left + lane * CELL
            complete = value == sum(VALUES)
            kind, text = ("a", "on") if complete else ("off", "")
            lines.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL - 2}" height="26"/>')
            lines.append(f'<text class="small mid {text}" x="{x + 19}" y="{y + 18}">{value}</text>')
    return lines


svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 690 206">']
svg += panel(4, "A: first distance = half the lanes", LANES // 2)
svg += panel(364, "B: first distance too small by 2", LANES // 4)
print("\n".join([*svg, "</svg>"]))
