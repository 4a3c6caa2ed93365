# test: figure cases.svg
"""Draws the shortest time of four pairs of kernels before and after fusion, from data-sheet rates of an MI300X."""

BANDWIDTH, PEAK = 5.3e12, 1307.4e12  # bytes/s, bfloat16 operations/s
HOST = 10e-6  # an example: seconds of the host for a launch
MATRIX = 2 * 4096**3


def seconds(kernels: list[tuple[float, float]]) -> float:
    """The shortest time of kernels, each with its bytes and operations; the host may be slower."""
    device = sum(max(moved / BANDWIDTH, flops / PEAK) for moved, flops in kernels)
    return max(device, HOST * len(kernels))


def element_wise(elements: int) -> tuple[float, float]:
    return 4.0 * elements, 4.0 * elements  # read and write 2 bytes each


SQUARE = 2.0 * 4096 * 4096  # bytes of a matrix
PRODUCT = (3 * SQUARE, MATRIX)
CASES = [
    ("A  three operators, 4096 elements", 3 * [element_wise(4096)], [element_wise(4096)]),
    ("B  three operators, 16384 × 4096", 3 * [element_wise(2**26)], [element_wise(2**26)]),
    ("C  product 4096³, then an activation", [PRODUCT, element_wise(2**24)], [PRODUCT]),
    ("D  two products 4096³", 2 * [PRODUCT], [(4 * SQUARE, 2 * MATRIX)]),
]
LEFT, SCALE = 290, 1.35  # pixels, pixels a microsecond
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 232">')
for index, (name, before, after) in enumerate(CASES):
    top = 8 + 56 * index
    old, new = (seconds(kernels) * 1e6 for kernels in (before, after))
    print(f'<text class="small" x="4" y="{top + 16}">{name}</text>')
    factor = f"at most {old / new:.2f} times as fast"
    print(f'<text class="small strong" x="4" y="{top + 36}">{factor}</text>')
    for row, (time, kind, word) in enumerate([(old, "off", "before"), (new, "a", "after")]):
        y, width = top + 22 * row, time * SCALE
        print(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="18"/>')
        label = f"{word} {time:.1f} µs"
        print(f'<text class="small" x="{LEFT + width + 6:.1f}" y="{y + 14}">{label}</text>')
print("</svg>")
