"""The palette and the frame that every figure shares.

Figures are made in the light colours. `recolour` (and its twin in ``assets/js/figures.js``) swaps each
light colour for its dark partner, so that the server draws once and the browser follows the scheme.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from core.units import NO_NAMES
from core.units import phase_name as plain_phase_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray

PHASES = {
    "light": ("#4097CF", "#10625B", "#B98D0E", "#A2479B", "#C14B07", "#3C3796", "#557B45", "#D66A89"),
    "dark": ("#62AAFE", "#15966C", "#F2D967", "#CE7BB5", "#E05709", "#7F5FD7", "#B6BB62", "#FEA3C1"),
}
# Black or white, but in a distinct shade for each phase, so that each can be mapped to its dark partner.
LABELS_ON_PHASES = {
    "light": ("#000001", "#FFFFFE", "#000002", "#FFFFFD", "#FFFFFC", "#FFFFFB", "#FFFFFA", "#000003"),
    "dark": ("#000000", "#000000", "#000000", "#000000", "#000000", "#FFFFFF", "#000000", "#000000"),
}
WARM_UP = {"light": "#A9B0BB", "dark": "#5B6472"}
INK = {
    "surface": ("#FFFFFF", "#15181E"),
    "sunken": ("#F0F2F5", "#1C2028"),
    "line": ("#E2E5EA", "#262B34"),
    "line_strong": ("#8A93A1", "#6C7686"),
    "ink": ("#171A21", "#ECEEF2"),
    "ink2": ("#444C59", "#BEC5D0"),
    "ink3": ("#5E6675", "#98A1AF"),
    "accent": ("#4A55C8", "#98A2FF"),
    "ok": ("#17683F", "#5CCB93"),
    "bad": ("#B3261E", "#FF8A80"),
    "weight1": ("#4B5564", "#CDD3DC"),
    "weight2": ("#98A1AF", "#7A8494"),
    "weight3": ("#D7DBE1", "#3B424E"),
}
FILL_ALPHA = 0.32
AREA_ALPHA = 0.16


def phase_name(phase: int, names: Mapping[int, str] = NO_NAMES) -> str:
    """A phase as a figure writes it, which reads some HTML: φ1, or with a given name φ1 validation."""
    return escape(plain_phase_name(phase, names), quote=False)


def escaped(names: Mapping[int, str], max_letters: int) -> dict[int, str]:
    """The beginnings of names that people gave to phases as a figure writes them."""
    return {phase: escape(shortened(name, max_letters), quote=False) for phase, name in names.items()}


def shortened(name: str, max_letters: int = 26) -> str:
    """A name cut to a number of letters, the last an ellipsis."""
    return name if len(name) <= max_letters else f"{name[: max_letters - 1]}…"


def ink(name: str) -> str:
    """A named light colour: surface, line, ink, ink2, ink3, accent and so on."""
    return INK[name][0]


def with_alpha(colour: str, alpha: float) -> str:
    """The colour as ``rgba(…)``."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def phase_colour(phase: int) -> str:
    """The light colour of a phase id; phases above eight repeat, warm-up (below 0) is grey."""
    return WARM_UP["light"] if phase < 0 else PHASES["light"][phase % 8]


def label_colour(phase: int) -> str:
    """The light colour of text on a phase's colour."""
    return "#000004" if phase < 0 else LABELS_ON_PHASES["light"][phase % 8]


def dark_partners() -> dict[str, str]:
    """Each light colour that a figure may use, with its dark partner; keys in lower case."""
    pairs = dict(INK.values())
    pairs |= {with_alpha(light, AREA_ALPHA): with_alpha(dark, AREA_ALPHA) for light, dark in INK.values()}
    for light, dark in zip(PHASES["light"], PHASES["dark"], strict=True):
        pairs[light] = dark
        pairs[with_alpha(light, FILL_ALPHA)] = with_alpha(dark, FILL_ALPHA)
    pairs |= dict(zip(LABELS_ON_PHASES["light"], LABELS_ON_PHASES["dark"], strict=True))
    pairs |= {WARM_UP["light"]: WARM_UP["dark"], "#000004": "#FFFFFF"}
    return {light.lower(): dark for light, dark in pairs.items()}


def recolour(figure: go.Figure, scheme: str) -> go.Figure:
    """The figure in the colours of a scheme, ``"light"`` or ``"dark"`` (for notebooks and exports)."""
    if scheme == "light":
        return figure
    partners = dark_partners()

    def swap(value: Any) -> Any:
        if isinstance(value, str):
            return partners.get(value.lower(), value)
        if isinstance(value, dict):
            return {key: swap(entry) for key, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return [swap(entry) for entry in value]
        return value

    return go.Figure(swap(figure.to_plotly_json()))


def axis(**more: Any) -> dict[str, Any]:
    """An axis without line, zero line or title; ticks outside in the faintest ink."""
    return {
        "showline": False,
        "zeroline": False,
        "showgrid": False,
        "automargin": False,
        "ticks": "",
        "tickfont": {"size": 11, "color": ink("ink3")},
        "gridcolor": ink("line"),
        "fixedrange": True,
        **more,
    }


def name_axis(**more: Any) -> dict[str, Any]:
    """An axis whose ticks are names: in full ink and a little larger than numbers."""
    return axis(**{"tickfont": {"size": 12, "color": ink("ink")}, **more})


def value_axis(**more: Any) -> dict[str, Any]:
    """A vertical axis of values: horizontal grid lines, from zero, about five ticks."""
    return axis(**{"showgrid": True, "rangemode": "tozero", "nticks": 5, "ticklabelstandoff": 4, **more})


def frame(height: int, **more: Any) -> go.Layout:
    """The layout of every figure: transparent, small type, no legend, no rotated titles."""
    layout: dict[str, Any] = {
        "template": "none",
        "height": height,
        "margin": {"l": 40, "r": 14, "t": 20, "b": 26},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "Inter, system-ui, sans-serif", "size": 11, "color": ink("ink3")},
        "showlegend": False,
        "hovermode": "x unified",
        "hoverlabel": {
            "bgcolor": ink("surface"),
            "bordercolor": ink("line_strong"),
            "font": {"size": 12, "color": ink("ink")},
        },
        "dragmode": "zoom",
        "bargap": 0.35,
    }
    return go.Layout(layout | more)


def upright(x: float, colour: str) -> dict[str, Any]:
    """A dashed line from the foot to the top of a figure, behind all else; `colour` is a name of `ink`."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": ink(colour), "width": 1, "dash": "2px,3px"},
        "layer": "below",
    }


def moment_line(time: float) -> dict[str, Any]:
    """A line across a whole figure at one moment; the first shape of a figure that has one."""
    line = {"color": ink("accent"), "width": 1.5}
    return {"type": "line", "x0": time, "x1": time, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def quantity_title(text: str, *, x: float = 0.0, y: float = 1.0, **more: Any) -> dict[str, Any]:
    """The quantity and unit of an axis, at its top left instead of a rotated title."""
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 11, "color": ink("ink2")},
        **more,
    }


_STEPS = (
    *(1, 2, 5, 10, 15, 20, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720)),
)


def time_ticks(start: float, end: float, about: int = 8) -> tuple[list[float], list[str]]:
    """Positions and labels (``2 min``) of ticks on an axis of seconds.

    The browser's twin in ``assets/js/figures.js`` does the same after a zoom.
    """
    span = max(end - start, 1e-9)
    step = next((candidate for candidate in _STEPS if span / candidate <= about), _STEPS[-1])
    first = -(-start // step)
    count = int((end - first * step) // step) + 1
    values = [(first + i) * step for i in range(max(count, 0))]
    unit, name = (3600, "h") if step >= 3600 else (60, "min") if step >= 60 else (1, "s")
    return values, ["0" if value == 0 else f"{value / unit:g} {name}" for value in values]


def with_clock(values: Sequence[float], texts: Sequence[str], clock: float) -> list[str]:
    """Labels of ticks with the time of day beneath, in UTC; `clock` is second 0 since 1970.

    The browser's twin in ``assets/js/figures.js`` does the same after a zoom.
    """
    step = values[1] - values[0] if len(values) > 1 else 0.0
    form = "%d %b %H:%M" if step >= 43_200 else "%H:%M" if step >= 3600 else "%H:%M:%S"
    times = [datetime.fromtimestamp(int(clock + value), UTC).strftime(form) for value in values]
    return [f"{text}<br>{time}" for text, time in zip(texts, times, strict=True)]


def time_axis(start: float, end: float, clock: float | None = None, **more: Any) -> dict[str, Any]:
    """A horizontal axis of seconds with its units in the ticks, and the time of day from `clock` on."""
    values, texts = time_ticks(start, end)
    if clock is not None:
        texts = with_clock(values, texts, clock)
    return axis(range=[start, end], tickvals=values, ticktext=texts, fixedrange=False, **more)


def discrete_scale(phases: Sequence[int]) -> list[list[Any]]:
    """A colour scale with one flat step per phase id, warm-up first."""
    return flat_scale([phase_colour(phase) for phase in (-1, *phases)])


def flat_scale(colours: Sequence[str]) -> list[list[Any]]:
    """A colour scale of equal flat steps, one per colour."""
    width = 1 / max(len(colours), 1)
    return [[edge * width, colour] for place, colour in enumerate(colours) for edge in (place, place + 1)]


def extent(values: FloatArray, room: float = 1.08) -> float:
    """The upper end of an axis from zero that leaves a little room above the largest value."""
    top = float(values.max()) if len(values) else 0.0
    return top * room if top > 0 else 1.0
