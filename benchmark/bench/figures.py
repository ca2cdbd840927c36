"""Bars as SVG, drawn by a few lines of our own: nothing to install, nothing fetched."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Chart", "draw"]

_WIDTH, _LABEL, _ROW, _TOP = 640, 220, 20, 34
_COLOURS = ("#2f6f8f", "#b5651d", "#6b8e23", "#7a5c99")


@dataclass(frozen=True, slots=True)
class Chart:
    """Groups of bars: a label, and a value for each series; `low` and `high` where known."""

    name: str
    title: str
    series: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    most: float | None = None


def draw(chart: Chart) -> str:
    """The chart as one SVG document that reads in light and in dark."""
    values = [value for _, group in chart.rows for value in group if value is not None]
    most = chart.most or max(values, default=1) or 1
    parts, y = [], _TOP + (_ROW if len(chart.series) > 1 else 0)
    for label, group in chart.rows:
        parts.append(_text(_LABEL - 8, y + 14, label, anchor="end"))
        for n, value in enumerate(group):
            parts += _bar(y, value, most, _COLOURS[n % len(_COLOURS)])
            y += _ROW
        y += 6
    head = [_text(8, 20, chart.title, size=14), *_legend(chart.series)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 8}" role="img" '
        f'font-family="sans-serif"><title>{escape(chart.title)}</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join([*head, *parts])}</svg>\n'
    )


def _bar(y: int, value: float | None, most: float, colour: str) -> Sequence[str]:
    if value is None:
        return [_text(_LABEL, y + 14, "-")]
    width = max(1.0, (_WIDTH - _LABEL - 70) * min(1.0, value / most))
    shown = f"{value:.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return [
        f'<rect x="{_LABEL}" y="{y + 2}" width="{width:.1f}" height="{_ROW - 5}" fill="{colour}"/>',
        _text(int(_LABEL + width + 6), y + 14, shown),
    ]


def _legend(series: tuple[str, ...]) -> list[str]:
    if len(series) < 2:
        return []
    parts, x = [], _LABEL
    for n, name in enumerate(series):
        colour = _COLOURS[n % len(_COLOURS)]
        square = f'<rect x="{x}" y="{_TOP}" width="10" height="10" fill="{colour}"/>'
        parts += [square, _text(x + 14, _TOP + 10, name)]
        x += 30 + 7 * len(name)
    return parts


def _text(x: int, y: int, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="#222">'
        f"{escape(text)}</text>"
    )
