"""Figures: SVG files that a page inlines and colours by their classes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from checks.common import LessonError, expect

NAMESPACE = "{http://www.w3.org/2000/svg}"
MAX_BYTES = 8 * 1024
MAX_WIDTH = 720
SHAPES = {"rect", "line", "path", "circle", "ellipse", "polygon", "polyline"}
ELEMENTS = SHAPES | {"svg", "g", "text", "tspan"}
GEOMETRY = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "width", "height", "d", "points"}
ATTRIBUTES = GEOMETRY | {"class", "transform"}
FILLS = {"a", "b", "c", "d", "off", "paper", "ink"}
STROKES = {"line", "line-a", "line-b", "line-c", "line-d", "dash", "thin", "arrow"}
LETTERS = {"small", "strong", "mono", "mid", "end", "quiet", "on"}
CLASSES = FILLS | STROKES | LETTERS
TRANSFORM = re.compile(r"\s*((translate|rotate)\([-+\d.eE,\s]*\)\s*)*")
# The narrowest common sans-serif letters average this many pixels at 14 px. A wider text leaves the figure for certain.
NARROW = 5.5


def check_figure(path: Path) -> str:
    size = path.stat().st_size
    expect(size <= MAX_BYTES, f"the figure has {size} bytes; the limit is {MAX_BYTES}")
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise LessonError(f"line {error.position[0]}: {error}") from error
    expect(root.tag == f"{NAMESPACE}svg", 'the root must be <svg xmlns="http://www.w3.org/2000/svg" viewBox="…">')
    width, height = view_box(root)
    unknown = root.attrib.keys() - {"viewBox"}
    expect(not unknown, f"<svg> may only have viewBox, not {', '.join(sorted(unknown))}")
    for element in root.iter():
        if element is not root:
            check_element(element)
    check_texts(root, width, height, fixed=True)
    expect(any(element.tag == f"{NAMESPACE}text" for element in root.iter()), "a figure needs labels in <text>")
    return f"{size} bytes"


def view_box(root: ElementTree.Element) -> tuple[float, float]:
    try:
        left, top, width, height = (float(number) for number in root.get("viewBox", "").replace(",", " ").split())
    except ValueError as error:
        raise LessonError('viewBox needs four numbers, such as viewBox="0 0 640 200"') from error
    expect((left, top) == (0, 0), "the viewBox must begin at 0 0")
    expect(0 < width <= MAX_WIDTH, f"the viewBox is {width:g} wide; the limit is {MAX_WIDTH}")
    expect(0 < height, "the viewBox has no height")
    return width, height


def check_element(element: ElementTree.Element) -> None:
    name = element.tag.removeprefix(NAMESPACE)
    if name in ("title", "desc"):
        raise LessonError(f"<{name}> is written by the page: set `title` and `conclusion` in the figure block")
    expect(name in ELEMENTS, f"<{name}> is not allowed; use {', '.join(sorted(ELEMENTS))}")
    unknown = element.attrib.keys() - ATTRIBUTES
    expect(not unknown, f"<{name}> may not have {', '.join(sorted(unknown))}; colours and sizes come from classes")
    for word in element.get("class", "").split():
        expect(word in CLASSES, f"`{word}` is not a class of figures; they are {' '.join(sorted(CLASSES))}")
    transform = element.get("transform", "")
    expect(TRANSFORM.fullmatch(transform), f"transform may only translate and rotate, not {transform}")
    if name in SHAPES:
        expect(not (element.text or "").strip(), f"<{name}> has text; write it in a <text>")


def check_texts(element: ElementTree.Element, width: float, height: float, fixed: bool) -> None:
    """Check that each text that is not moved by a transform is inside the figure."""
    for child in element:
        here = fixed and "transform" not in child.attrib
        if child.tag == f"{NAMESPACE}text" and here:
            check_place(child, width, height)
        check_texts(child, width, height, here)


def check_place(text: ElementTree.Element, width: float, height: float) -> None:
    words = "".join(text.itertext()).strip()
    try:
        x, y = float(text.get("x", "0")), float(text.get("y", "0"))
    except ValueError as error:
        raise LessonError(f"“{words}”: x and y must be numbers") from error
    if any("x" in part.attrib for part in text.iter(f"{NAMESPACE}tspan")):
        return
    classes = text.get("class", "").split()
    before = 0.5 if "mid" in classes else 1.0 if "end" in classes else 0.0
    length = NARROW * len(words)
    inside = x - before * length >= 0 and x + (1 - before) * length <= width and 0 < y <= height
    expect(inside, f"“{words}” at {x:g}, {y:g} leaves the figure of {width:g} × {height:g}")
