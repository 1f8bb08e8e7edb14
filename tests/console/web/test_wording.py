"""Numbers, rates and spans as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console.web import wording


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "—"),
        (-3, "0 s"),
        (0.04, "0 s"),
        (0.84, "0.8 s"),
        (9.9, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 m"),
        (65, "1 m 05 s"),
        (400, "6 m 40 s"),
        (3_599.7, "1 h"),
        (7_800, "2 h 10 m"),
        (86_400, "1 d"),
        (277_200, "3 d 05 h"),
    ],
)
def test_spans(seconds: float | None, words: str) -> None:
    assert wording.span(seconds).replace("\u00a0", " ") == words


@pytest.mark.parametrize(
    ("per_second", "words"), [(None, "—"), (0, "0.0"), (41.25, "41.2"), (99.96, "100"), (12_408.4, "12,408")]
)
def test_rates(per_second: float | None, words: str) -> None:
    assert wording.rate(per_second) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.5, "now"), (12, "12 s ago"), (200, "3 m ago"), (-2_500, "in 41 m"), (-90_000, "in 1 d")]
)
def test_distances(seconds: float, words: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)

    assert wording.ago(now - timedelta(seconds=seconds), now).replace("\u00a0", " ") == words


def test_numbers_sizes_and_plurals() -> None:
    assert wording.number(12_408) == "12,408"
    assert wording.number(None) == "—"
    assert wording.byte_size(344).replace("\u00a0", " ") == "344 B"
    assert wording.byte_size(1_536).replace("\u00a0", " ") == "1.5 KB"
    assert wording.byte_size(5 * 1024 * 1024).replace("\u00a0", " ") == "5.0 MB"
    assert [wording.plural(count, "message") for count in (0, 1, 1_000)] == [
        "0 messages",
        "1 message",
        "1,000 messages",
    ]
