"""Pictures drawn on the server: true to their numbers, and saying them in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from console.charts import drawing as charts
from console.charts import sparklines
from console.charts.drawing import Series
from console.charts.sparklines import Part
from console.charts.tones import TONES
from console.web import wording
from tests.console.browsers import Page

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def times(count: int) -> list[datetime]:
    return [NOON + timedelta(seconds=10 * index) for index in range(count)]


def test_a_sparkline_says_first_last_and_highest() -> None:
    svg = Page(sparklines.sparkline([5, 20, 10], words="Ready")).one("svg")

    assert svg.attributes["aria-label"] == "Ready: 5 at first, 10 now, 20 at most"


def test_a_sparkline_stays_within_its_box() -> None:
    for values in ([0, 0, 0], [1e12, 3, 7], list(range(60))):
        line = Page(sparklines.sparkline(values)).one("polyline").attributes["points"]
        points = [tuple(map(float, point.split(","))) for point in line.split()]
        assert len(points) == len(values)
        assert all(0 <= x <= sparklines.SPARK_WIDTH and 0 <= y <= sparklines.SPARK_HEIGHT for x, y in points)


def test_without_history_there_is_no_line() -> None:
    assert "no history yet" in sparklines.sparkline([7])


def test_every_state_with_messages_is_seen_in_the_bar() -> None:
    page = Page(
        sparklines.state_bar([Part("ready", 1_000_000, "ready"), Part("dead", 1, "dead"), Part("none", 0, "none")])
    )

    widths = {one.attributes["class"]: float(one.attributes["width"]) for one in page.all("rect")[1:]}
    assert set(widths) == {"tone-ready", "tone-dead"}
    assert widths["tone-dead"] >= 8
    assert sum(widths.values()) <= 1000
    assert page.one("svg").attributes["aria-label"] == "1,000,000 ready, 1 dead, 0 none"


def test_an_empty_bar_is_a_track() -> None:
    assert len(Page(sparklines.state_bar([Part("ready", 0, "ready")])).all("rect")) == 1


@pytest.mark.parametrize(
    ("part", "whole", "width"), [(0, 0, "0.00"), (1, 4, "25.00"), (9, 3, "100.00"), (-1, 3, "0.00")]
)
def test_a_share_is_never_more_than_the_whole(part: float, whole: float, width: str) -> None:
    assert f'width="{width}"' in sparklines.share_bar(part, whole)


def test_a_chart_has_a_value_for_every_moment() -> None:
    chart = charts.draw("Messages", times(3), [Series("ready", "ready", [1, 5, 3]), Series("dead", "dead", [0, 0, 1])])

    assert [hit.words for hit in chart.hits] == [
        "12:00:00 UTC · ready 1 · dead 0",
        "12:00:10 UTC · ready 5 · dead 0",
        "12:00:20 UTC · ready 3 · dead 1",
    ]
    assert chart.summary == "Messages: ready 3 now, 1 to 5; dead 1 now, 0 to 1"
    assert chart.rows[0] == (NOON + timedelta(seconds=20), ["3", "1"])
    assert chart.y_labels == ["6", "3", "0"]


def test_a_gap_in_the_data_is_a_gap_in_the_line() -> None:
    chart = charts.draw("Age", times(4), [Series("oldest", "ready", [1.0, None, 2.0, 3.0], filled=True)])

    assert chart.strokes[0].line.count("M") == 2
    assert "—" in chart.hits[1].words


def test_the_threshold_is_always_on_the_chart() -> None:
    chart = charts.draw("Age", times(2), [Series("oldest", "ready", [1.0, 2.0])], say=wording.span, threshold=300.0)

    assert chart.threshold_y is not None
    assert 0 <= chart.threshold_y <= charts.PLOT_HEIGHT


def test_lines_stay_within_the_plot() -> None:
    for values in ([0.0, 0.0], [0.001, 0.002], [999.0, 1001.0], [1e9, 5.0], [13.0, 12.5]):
        stroke = charts.draw("x", times(2), [Series("a", "ready", values)]).strokes[0]
        ys = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", stroke.line)]
        assert all(0 <= y <= charts.PLOT_HEIGHT for y in ys), values


def test_nothing_known_is_empty() -> None:
    chart = charts.draw("x", [], [Series("a", "ready", [])])

    assert chart.empty
    assert chart.summary == "x: nothing recorded"


def test_a_gap_parts_a_sparkline() -> None:
    page = Page(sparklines.sparkline([5.0, 6.0, None, None, 2.0], words="Ready"))

    assert len(page.all("polyline")) == 2
    assert page.one("svg").attributes["aria-label"] == "Ready: 5 at first, 2 now, 6 at most, with gaps"
    assert "no history yet" in sparklines.sparkline([None, None])


def test_every_tone_of_a_chart_has_one_colour_in_the_stylesheet() -> None:
    styles = settings.BASE_DIR / "console/static/console/styles"
    stylesheet = "".join((styles / name).read_text() for name in ("ground.css", "charts.css"))
    colours = re.findall(r"--([a-z0-9]+): light-dark\((#\w+), (#\w+)\);", stylesheet)
    of_tones = {name: (light, dark) for name, light, dark in colours if name in TONES}

    assert set(of_tones) == TONES
    assert len(set(of_tones.values())) == len(TONES)
    for tone in TONES:
        assert f".tone-{tone} {{ fill: var(--{tone}); color: var(--{tone}); }}" in stylesheet


@pytest.mark.parametrize("path", ["history/charts.py", "queues/views.py", "queues/head.py"])
def test_charts_name_tones_by_meaning(path: str) -> None:
    """A state, event or percentile has the colour of its own name, in every chart."""
    text = (settings.BASE_DIR / "console" / path).read_text()
    named = re.findall(r'\("([\w -]+)", "(\w+)", "\w+"\)', text)
    meanings = {"in flight": "leased", "waiting for their group": "waiting", "dead-lettered": "dead", "in": "sent"}
    meanings |= {"out": "completed", "lease expired": "expired", "deliveries": "delivered", "retried": "failed"}
    meanings |= {"purged": "removed"}

    assert [(label, tone) for label, tone in named if tone != meanings.get(label, label)] == []
