"""A soak convicts what keeps growing, and nothing else."""

from __future__ import annotations

from collections import Counter

from tests.proof.soak.looking import Sample
from tests.proof.soak.report import growths, report

LOOKS = 40


def hour(memory_a_look: float = 0.0, sessions_a_look: float = 0.0, spike: float = 0.0) -> list[Sample]:
    samples = []
    for number in range(LOOKS):
        noise = number % 3
        memory = 100 + memory_a_look * number + noise + (spike if number == LOOKS - 3 else 0)
        of_database = {
            "hot tables MB": 3.0, "dead rows of hot tables": 900.0, "catalog MB": 20.0, "relations": 300.0,
            "database MB": 50.0 + number, "sessions": 30 + sessions_a_look * number, "messages": 1000.0 * number,
        }  # fmt: skip
        counts = Counter({"console": 20})
        sample = Sample(20.0 * number, Counter({"console": round(memory)}), counts, counts, of_database)
        samples.append(sample if number % 7 else Sample(20.0 * number))  # an outage
    return samples


def test_an_hour_that_only_wavers_is_flat() -> None:
    assert [one.name for one in growths(hour(spike=400)) if not one.is_flat] == []


def test_what_grows_a_little_each_time_is_named() -> None:
    grown = [one.name for one in growths(hour(memory_a_look=1.5, sessions_a_look=0.7)) if not one.is_flat]

    assert grown == ["memory MB, console", "sessions"]


def test_the_report_says_so() -> None:
    words = report(hour(memory_a_look=3), {"all sessions terminated": 4})

    assert "| all sessions terminated | 4 |" in words
    assert "| sessions | 30 | 30 | 30 | yes |" in words
    assert "**no**" in words
