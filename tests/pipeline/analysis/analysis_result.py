"""Invented results of an analysis."""

from __future__ import annotations

from datetime import UTC, date, datetime

from pipeline.analysis.analysing import _Result

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def result(cause: str) -> _Result:
    template = {
        "template": "v2:0",
        "reason": "rejected",
        "error_class": None,
        "error": 'tab\t, newline\n, \\N and "quotes"',
        "failures": 90,
        "deaths": 9,
        "first_seen": NOON,
        "last_seen": NOON,
        "queue_count": 1,
        "tenant_count": 1,
        "fingerprint_count": 1,
        "days": [{"day": date(2026, 3, 2), "less": -10}, {"day": date(2026, 3, 4), "less": -80}],
        "queues": [{"queue_id": 7, "queue": None, "tenant": "t", "less": -90}],
        "fingerprints": [{"fingerprint": cause, "less": -90}],
    }
    place = {"cause": cause, "queue_id": 7}
    counts = {"failures": 30, "failures_unread": 1, "successes": 60, "successes_unread": 0, "tests": 12}
    finding = place | {"place": 1, "path": '["payload","a",null]', "kind": "value", "value": '"\u2028x"'}
    return _Result([template], 90, [place | counts], 3, [finding | {"failures_with": 29, "successes_with": 0}])
