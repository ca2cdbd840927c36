"""Lines over time as SVG, beside the bars of `figures` and as plain."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Curve", "trace"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 640, 300, 60, 58, 40, 20
_COLOURS = ("#2f6f8f", "#b5651d", "#6b8e23", "#7a5c99")
_TICKS = 4
# More points than a screen has columns show nothing more.
_MOST_POINTS = 320

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line for each series, all on one scale that begins at zero."""

    name: str
    title: str
    across: str
    series: tuple[tuple[str, tuple[Point, ...]], ...]


def trace(curve: Curve) -> str:
    """The curve as one SVG document that reads in light and in dark."""
    points = [point for _, line in curve.series for point in line]
    widest = max((x for x, _ in points), default=1) or 1
    highest = _round_up(max((y for _, y in points), default=1) or 1)
    parts = [_text(8, 20, curve.title, size=14), *_legend([name for name, _ in curve.series])]
    parts += _grid(curve.across, widest, highest)
    for n, (_, line) in enumerate(curve.series):
        placed = " ".join(_placed(point, widest, highest) for point in _thinned(line))
        parts.append(
            f'<polyline points="{placed}" fill="none" stroke="{_COLOURS[n % len(_COLOURS)]}" '
            'stroke-width="1.5"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif"><title>{escape(curve.title)}</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _grid(across: str, widest: float, highest: float) -> Iterator[str]:
    for n in range(_TICKS + 1):
        x, y = _at(widest * n / _TICKS, highest * n / _TICKS, widest, highest)
        yield (
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        yield _text(_LEFT - 6, y + 4, f"{highest * n / _TICKS:g}", anchor="end")
        yield _text(x, _HEIGHT - _BOTTOM + 16, f"{widest * n / _TICKS:.3g}", anchor="middle")
    yield _text((_LEFT + _WIDTH) / 2, _HEIGHT - 6, across, anchor="middle")


def _placed(point: Point, widest: float, highest: float) -> str:
    x, y = _at(*point, widest, highest)
    return f"{x:.1f},{y:.1f}"


def _at(x: float, y: float, widest: float, highest: float) -> Point:
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return _LEFT + wide * x / widest, _TOP + high * (1 - y / highest)


def _thinned(line: Sequence[Point]) -> Sequence[Point]:
    """The highest of each few neighbours, so that no peak is lost."""
    step = -(-len(line) // _MOST_POINTS) or 1
    parts = (line[start : start + step] for start in range(0, len(line), step))
    return [max(part, key=lambda point: point[1]) for part in parts]


def _round_up(value: float) -> float:
    """The least number above it whose ticks are easy to read."""
    size = 10.0 ** math.floor(math.log10(value / _TICKS))
    steps = (step * size for step in (1, 2, 2.5, 5, 10))
    return next(step for step in steps if step * _TICKS >= value * 0.999) * _TICKS


def _legend(names: Sequence[str]) -> Iterator[str]:
    x = _LEFT
    for n, name in enumerate(names):
        colour = _COLOURS[n % len(_COLOURS)]
        yield f'<rect x="{x}" y="32" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 14, 42, name)
        x += 30 + 7 * len(name)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="#222">'
        f"{escape(text)}</text>"
    )
