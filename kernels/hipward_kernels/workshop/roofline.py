"""A roofline as SVG: attainable operations per second over operations per byte, both axes logarithmic.

Williams, Waterman and Patterson 2009, https://doi.org/10.1145/1498765.1498785.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.workshop.ceilings import Ceilings

WIDTH, HEIGHT, MARGIN = 720, 420, 70


@dataclass(frozen=True)
class Point:
    """A measured point."""

    name: str
    intensity: float
    """Floating-point operations per byte."""
    flops_per_second: float


def plot(title: str, ceilings: Ceilings, points: Sequence[Point]) -> str:
    """The drawing; colours follow the page's text colour."""
    ridge = ceilings.flops_per_second / ceilings.bytes_per_second
    lowest = min([ridge, *(point.intensity for point in points)])
    highest = max([ridge, *(point.intensity for point in points)])
    x_range = (math.floor(math.log10(lowest)) - 1, math.ceil(math.log10(highest)) + 1)
    slowest = min(point.flops_per_second for point in points)
    top = math.ceil(math.log10(ceilings.flops_per_second))
    y_range = (min(math.floor(math.log10(slowest)), top - 2), top)

    def x(intensity: float) -> float:
        share = (math.log10(intensity) - x_range[0]) / (x_range[1] - x_range[0])
        return MARGIN + share * (WIDTH - 2 * MARGIN)

    def y(rate: float) -> float:
        share = (math.log10(rate) - y_range[0]) / (y_range[1] - y_range[0])
        return HEIGHT - MARGIN - min(max(share, 0), 1) * (HEIGHT - 2 * MARGIN)

    left = max(10.0 ** x_range[0], 10.0 ** y_range[0] / ceilings.bytes_per_second)
    roof = [(left, left * ceilings.bytes_per_second), (ridge, ceilings.flops_per_second)]
    roof.append((10.0 ** x_range[1], ceilings.flops_per_second))
    line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in roof)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" fill="currentColor"'
    head += f' font-family="sans-serif" font-size="13"><title>{escape(title)}</title>'

    def text(at_x: float, at_y: float, words: str, anchor: str = "middle") -> str:
        return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'

    parts = [head, text(MARGIN, 30, title, "start")]
    parts.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"/>')
    below = HEIGHT - MARGIN + 20
    parts += [text(x(10.0**power), below, f"1e{power}") for power in range(x_range[0], x_range[1] + 1)]
    powers = range(y_range[0], y_range[1] + 1)
    parts += [text(MARGIN - 8, y(10.0**power) + 4, f"1e{power - 12}", "end") for power in powers]
    parts += [text(WIDTH / 2, HEIGHT - 20, "FLOP per byte"), text(14, MARGIN - 16, "TFLOP/s", "start")]
    for point in points:
        at_x, at_y = x(point.intensity), y(point.flops_per_second)
        parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="5"/>')
        parts.append(text(at_x, at_y + 20, f"{point.name}: {point.flops_per_second / 1e12:.3g} TFLOP/s"))
    return "\n".join([*parts, "</svg>\n"])
