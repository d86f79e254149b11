"""The palette of figures and the palette of the page are one."""

import re
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from app.figures import theme
from app.figures.spread import Box, frequencies, spread
from app.figures.timeline import (
    BETWEEN_SEGMENTS,
    Caption,
    Runs,
    Series,
    band,
    minmax_indices,
    names,
    timeline,
)
from app.ui.basics import gradient
from core.traces.model import unit_scale
from core.units import GIB, Unit

TOKENS = Path(__file__).resolve().parents[2] / "assets" / "css" / "00-tokens.css"


def tokens(scheme):
    text = TOKENS.read_text()
    start = text.index(":root{\n" if scheme == "light" else '[data-mantine-color-scheme="dark"]{')
    return dict(re.findall(r"--([\w-]+):(#[0-9A-Fa-f]+)", text[start : text.index("}", start)]))


@pytest.mark.parametrize(("scheme", "side"), [("light", 0), ("dark", 1)])
def test_figures_and_pages_share_their_colours(scheme, side):
    css = tokens(scheme)
    assert tuple(css[f"p{i}"].upper() for i in range(1, 9)) == theme.PHASES[scheme]
    assert css["p0"].upper() == theme.WARM_UP[scheme]
    for name, pair in theme.INK.items():
        assert css[name.replace("_", "-")].upper() == pair[side], name


def test_every_light_colour_has_one_dark_partner():
    partners = theme.dark_partners()
    assert partners["#4097cf"] == "#62AAFE"
    assert partners[theme.with_alpha("#4097CF", theme.FILL_ALPHA)] == theme.with_alpha("#62AAFE", 0.32)


def test_recolour_swaps_colours_inside_a_figure_and_nothing_else():
    figure = go.Figure(go.Scatter(x=[1], y=[2], line={"color": theme.ink("ink")}, name="ink"))
    dark = theme.recolour(figure, "dark")
    assert dark.data[0].line.color == theme.INK["ink"][1]
    assert dark.data[0].name == "ink"
    assert theme.recolour(figure, "light") is figure


@pytest.mark.parametrize(
    ("start", "end", "texts"),
    [
        (0, 40, ["0", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s", "35 s", "40 s"]),
        (0, 655, ["0", "2 min", "4 min", "6 min", "8 min", "10 min"]),
        (3600, 3 * 3600, ["1 h", "1.25 h"]),
        (0, 200_000, ["0", "12 h", "24 h", "36 h", "48 h"]),
    ],
)
def test_time_ticks_say_their_unit(start, end, texts):
    values, said = theme.time_ticks(start, end)
    assert all(start <= value <= end for value in values)
    assert len(values) <= 9
    if start != 3600:
        assert said == texts
    else:
        assert all(text.endswith(("min", "h")) for text in said)


@given(hnp.arrays(np.float64, st.integers(1, 400), elements=st.floats(-1e6, 1e6)), st.integers(4, 60))
def test_thinning_keeps_ends_and_extremes(values, most):
    kept = minmax_indices(values, most)
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= max(most + 2, 4)
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert values[kept].max() == values.max()
    assert values[kept].min() == values.min()


def test_a_moment_of_another_limit_is_drawn_however_long_the_execution():
    n = 50_000
    limit = np.full(n, 4.0)
    limit[31_337] = 1.0
    series = [Series("CPU", np.random.default_rng(3).random(n), Unit.CORES, limit, limit / 2, "vpa")]
    drawn = {line.name: line.y for line in timeline(np.arange(n) * 1.0, series).data}
    assert np.min(drawn["CPU limit"]) == 1
    assert np.min(drawn["vpa allocation"]) == 0.5


def test_a_limit_far_above_the_use_is_said_and_does_not_flatten_it():
    elapsed, used = np.arange(5.0), np.array([1.0, 2, 4, 3, 4])

    def axis_and_notes(limit):
        figure = timeline(elapsed, [Series("Memory", used * GIB, Unit.BYTES, np.full(5, limit * GIB))])
        return figure.layout.yaxis.range[1], [each.text for each in figure.layout.annotations]

    assert axis_and_notes(62.7) == (pytest.approx(4.32), ["Memory, GiB", "limit 62.70 GiB ↑"])
    assert axis_and_notes(8.0) == (pytest.approx(8.32), ["Memory, GiB"])


def test_runs_last_as_long_as_everywhere_and_what_was_not_sampled_is_a_gap():
    begin, seconds = np.array([0.0, 10, 40]), np.array([10.0, 10, 5])
    runs = Runs.of(begin, seconds, np.array([-1, 2, 0]))
    assert runs.phases.tolist() == [-1, 2, BETWEEN_SEGMENTS, 0]
    assert runs.edges.tolist() == [0, 10, 20, 40, 45]
    assert np.isnan(band(runs, (0, 1, 2), "y", (0.0, 1.0)).z[0]).tolist() == [False, False, True, False]
    none = np.zeros(0)
    assert len(Runs.of(none, none, none).phases) == 0


def test_no_line_is_drawn_over_a_gap():
    elapsed = np.array([0.0, 1, 2, 10, 11])
    drawn = timeline(elapsed, [Series("CPU", np.arange(5.0), Unit.CORES)], breaks=np.array([3])).data[0]
    assert drawn.x.tolist() == [0, 1, 2, 6, 10, 11]
    assert np.isnan(drawn.y).tolist() == [False, False, False, True, False, False]


def test_names_stand_in_the_middle_of_what_is_seen_of_their_runs():
    runs = Runs(np.array([0.0, 100, 200]), np.array([0, 1]))
    drawn = names(runs, "y", (50.0, 150.0))
    assert drawn.x.tolist() == [75, 125]
    told = [[0, 100, "φ1", 0, theme.label_colour(0), ""], [100, 200, "φ2", 1, theme.label_colour(1), ""]]
    assert [list(run) for run in drawn.customdata] == told


def test_only_names_with_room_are_texts_and_every_run_is_told():
    runs = Runs(np.array([0.0, 1, 2, 100]), np.array([0, 1, -1]))
    drawn = names(runs, "y", (0.0, 100.0))
    assert (len(drawn.x), len(drawn.customdata)) == (0, 3)
    assert list(names(runs, "y", (0.0, 10.0)).text) == ["<b>φ1</b>", "<b>φ2</b>"]


def test_every_line_says_what_it_is_and_in_which_unit():
    n = np.arange(50) * 1.0
    lanes = [
        Series("CPU", n / 50, Unit.CORES, n, n, "vpa"),
        Series("GPU", n / 50, Unit.SHARE, other_lines=[("GPU 1", n / 100)], name="GPU 0"),
    ]
    figure = timeline(
        n, lanes, Runs(np.array([0.0, 50]), np.array([1])), {0: "Idle", 1: "Busy"}, caption=Caption("job")
    )
    said = [dict(line.meta) for line in figure.data if line.meta and "lane" in line.meta]
    assert [each["key"] for each in said] == ["Limit", "vpa allocation", "Used", "GPU 0", "GPU 1"]
    assert {(each["lane"], each["unit"]) for each in said} == {("CPU", "cores"), ("GPU", "%")}
    assert figure.layout.meta["phases"][1][1::2] == ["φ2", "Busy"]
    assert figure.layout.meta["title"] == "job"
    assert figure.layout.height > timeline(n, lanes[:1]).layout.height


def test_a_few_runs_are_kept_and_many_become_a_bar_code_of_what_prevails():
    few = Runs(np.array([0.0, 10, 20, 40]), np.array([0, 1, 0]))
    cut = few.within(12, 30)
    assert cut.phases.tolist() == [1, 0]
    assert cut.edges.tolist() == [10, 20, 40]
    # Phase 2 has three quarters of the first half, phase 0 all of the second.
    edges = np.concatenate([np.arange(0, 400), [400, 800]]).astype(float)
    phases = np.concatenate([np.where(np.arange(400) % 4 == 0, 1, 2), [0]])
    many = Runs(edges, phases).within(0, 800, max_runs=10)
    assert many.phases.tolist() == [2, 0]
    assert many.edges.tolist() == [0, 400, 800]


def test_strips_are_gradients_over_the_page_colours():
    assert gradient([(0.25, -1), (0.75, 1)]) == "linear-gradient(90deg,var(--p0) 0% 25%,var(--p2) 25% 100%)"
    assert gradient([]) == "none"


def test_names_of_phases_keep_off_their_boxes_and_bars():
    boxes = spread("CPU", [Box(0, (0.0, 0.1, 0.2, 0.3, 0.4), 0.2)], unit_scale(Unit.CORES))
    for figure in (boxes, frequencies([(0, 10, 1.0)])):
        assert figure.layout.yaxis.ticklabelstandoff >= 4


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0, 120], ["00:00:30", "00:02:30"]),
        ([0, 7200], ["00:00", "02:00"]),
        ([0, 86_400], ["01 Jan 00:00", "02 Jan 00:00"]),
    ],
)
def test_clock_times_have_the_parts_that_differ(values, texts):
    said = theme.with_clock(values, ["", ""], 30.0)
    assert [text.removeprefix("<br>") for text in said] == texts
