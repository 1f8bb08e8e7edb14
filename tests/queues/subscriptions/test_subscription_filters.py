"""Filters of subscriptions: the engine selects what the filter language selects, and refuses the rest by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from dlq.filters import Target, parse
from tests.engine import Engine

MESSAGES: list[tuple[Any, dict[str, Any]]] = [
    ({"kind": "paid", "total": 5, "tags": ["vip", "new"], "note": None}, {"attributes": {"region": "eu"}}),
    ({"kind": "open", "total": 5.0, "lines": [{"sku": "A-1", "n": 2}, {"n": 30}]}, {"group_id": "g-1"}),
    ({"kind": "PAID", "total": "5", "done": True}, {"priority": 7, "trace_id": "abc"}),
    ({"line items": {"count": 2}, "a.b": "x", "total": -3.5}, {"attributes": {"http.method": "POST", "n": 10}}),
    ([1, 2, "paid"], {"group_id": "g 2"}),
    ("paid", {}),
    (None, {"priority": 1}),
    ({"kind": ["paid"], "tags": "vip", "lines": {"sku": "A-1"}}, {}),
    ({"kind": 'say "hi"', "total": 1e20, "deep": {"a": [{"b": [1, 2]}, {"c": 1}]}}, {}),
]
FILTERS = [
    "",
    "payload.kind:paid",
    "payload.kind:paid,open",
    "-payload.kind:paid",
    "payload.total:5",
    'payload.total:"5"',
    "payload.total:>4.9",
    "payload.total:<0 -payload.kind:*",
    "payload.total:1..5,>=1e19",
    "payload.note:*",
    "payload.note:null",
    "payload.done:true",
    "payload.tags[]:vip",
    "payload.tags:vip",
    'payload.lines[].sku:"A-1"',
    "payload.lines[].n:>10",
    "-payload.lines[].n:>10",
    'payload."line items".count:1..3',
    'payload."a.b":x',
    'payload.kind:"say \\"hi\\""',
    "payload.deep.a[].b[]:2",
    "attr.region:eu,us",
    'attr."http.method":POST attr.n:>=10',
    "-attr.region:*",
    'group:g-1,"g 2"',
    "-group:*",
    "group:*",
    "priority:>5",
    "priority:1,7",
    "priority:0..1",
    "trace:abc",
    "-trace:*",
]


def test_the_engine_selects_what_the_language_selects(engine: Engine) -> None:
    for payload, options in MESSAGES:
        engine.send(payload, **options)
    now = datetime.now(UTC)
    selected = (
        "select array_agg(m.message_id order by m.message_id) from signalbox.message m,"
        " signalbox._compile_filter(%s) f where m.queue_id = %s and signalbox._selects("
        "f.conditions, f.negated, m.payload, m.attributes, m.group_id, m.priority, m.trace_id)"
    )
    for text in FILTERS:
        predicate = parse(text).compile(Target.MESSAGE, now)
        expected = engine.value(
            "select array_agg(m.message_id order by m.message_id) from signalbox.message m"
            f" where m.queue_id = {engine.queue_id} and {predicate.sql}",
            *predicate.params,
        )
        assert engine.value(selected, text, engine.queue_id) == expected, text


@pytest.mark.parametrize(
    "text",
    [
        "paid", "payload:x", "payload.:x", "group.a:x", "kind:paid", "payload.kind:", "-", "payload.kind:'paid'",
        "payload.kind:/paid/", 'payload.kind:"paid', "payload.a[0]:x", "age:>1h", "priority:x", "payload.a:>x",
        'payload.a:b"c"', "payload.a:x,", "payload.kind:paid OR x", "payload.x:" + "9" * 2000,
        " ".join(["group:a"] * 51), "payload" + ".a" * 17 + ":x", 'payload."\\q":x', 'payload.a:"\\u0000"',
    ],
)  # fmt: skip
def test_what_it_does_not_take_is_refused_by_name(engine: Engine, text: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        engine.value("select signalbox._compile_filter(%s)", text)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "filter"), text


@pytest.mark.parametrize(
    "text",
    [
        '"' * 1999,
        "-" * 2000,
        "payload" + "." * 1990 + ":x",
        "payload.a:" + "," * 1980,
        '\\"' * 999,
        "payload.a:" + '"\\' * 900,
    ],
)
def test_hostile_text_is_answered_at_once(engine: Engine, text: str) -> None:
    engine.connection.execute("set statement_timeout = '5s'")
    with pytest.raises(psycopg.Error) as refused:
        engine.value("select signalbox._compile_filter(%s)", text)
    assert refused.value.diag.column_name == "filter"
