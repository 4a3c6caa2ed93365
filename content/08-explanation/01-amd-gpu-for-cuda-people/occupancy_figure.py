# test: figure occupancy.svg
"""Draws how many wavefronts fit on a SIMD of gfx90a, gfx942 and gfx950 by the vector registers of a lane."""

REGISTERS, GRANULE, MOST = 512, 8, 8  # kernels/hipward_kernels/gpu/gpus.toml, limits of gfx942
LEFT, BOTTOM, WIDTH, STEP = 60, 200, 600, 20


def waves(vgprs: int) -> int:
    allocated = -(-vgprs // GRANULE) * GRANULE
    return min(MOST, REGISTERS // allocated)


def x(vgprs: int) -> float:
    return LEFT + WIDTH * vgprs / REGISTERS


svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 690 242">']
svg.append(f'<path class="line thin" d="M{LEFT} {BOTTOM} H{LEFT + WIDTH}"/>')
svg.append(f'<text class="small quiet" x="{LEFT}" y="12">wavefronts on a SIMD</text>')
svg.append(f'<text class="small quiet end" x="{LEFT + WIDTH}" y="238">vector registers of a lane</text>')
first = 1
for vgprs in range(1, REGISTERS + 1):
    if vgprs < REGISTERS and waves(vgprs + 1) == waves(vgprs):
        continue
    height = waves(vgprs) * STEP
    left, right = x(first - 1), x(vgprs)
    svg.append(
        f'<rect class="a" x="{left:.0f}" y="{BOTTOM - height}" width="{right - left - 2:.0f}" height="{height}"/>'
    )
    middle = (left + right) / 2
    svg.append(f'<text class="mid small strong" x="{middle:.0f}" y="{BOTTOM - height - 5}">{waves(vgprs)}</text>')
    if vgprs in (64, 128, 168, 256, 512):
        svg.append(f'<text class="mid small" x="{right:.0f}" y="{BOTTOM + 18}">{vgprs}</text>')
    first = vgprs + 1
svg.append("</svg>")
print("\n".join(svg))
