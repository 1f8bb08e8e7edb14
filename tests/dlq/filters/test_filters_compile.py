"""Filters become one condition; what people typed is in its parameters only."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.filters import KEYS, Comparison, Filter, FilterError, Literal, Predicate, Target, Term, parse
from tests.dlq.filters.filter_strategies import filters

NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)
DAY = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = "d.receive_count"
CLASS = "d.error_class"
QUEUE_IDS = "array(select queue_id from signalbox.queue where name = any(%s::text[]))"


@pytest.mark.parametrize(
    ("text", "sql", "params"),
    [
        ("", "true", []),
        ("class:a.B", "d.error_class = %s::text", ["a.B"]),
        ("class:A", f"({CLASS} = %s::text or {CLASS} like any(%s::text[]))", ["A", ["%.A"]]),
        ("class:A,b.C", f"({CLASS} = any(%s::text[]) or {CLASS} like any(%s::text[]))", [["A", "b.C"], ["%.A"]]),
        ("-class:a.B", "(d.error_class = %s::text) is not true", ["a.B"]),
        ("class:*", "d.error_class is not null", []),
        ("group:a,*", "(d.group_id = %s::text or d.group_id is not null)", ["a"]),
        ("fp:1 reason:rejected", "d.fingerprint = %s::text and d.reason = %s::text", ["1", "rejected"]),
        (
            "queue:a,b",
            f"(d.source_queue_id = any({QUEUE_IDS}) or d.queue_id = any({QUEUE_IDS}))",
            [["a", "b"], ["a", "b"]],
        ),
        (r'error:"50%_\\"', "d.error ilike any(%s::text[])", [[r"%50\%\_\\%"]]),
        ("attempts:3", "d.receive_count = %s::bigint", [3]),
        (
            "attempts:1,2,>9,4..6",
            f"({COUNT} = any(%s::bigint[]) or {COUNT} > %s::bigint or {COUNT} between %s::bigint and %s::bigint)",
            [[1, 2], 9, 4, 6],
        ),
        ("age:>1h", "d.died_at < %s::timestamptz", [NOW - timedelta(hours=1)]),
        ("age:<=1h30m", "d.died_at >= %s::timestamptz", [NOW - timedelta(minutes=90)]),
        (
            "age:1h..2h",
            "d.died_at between %s::timestamptz and %s::timestamptz",
            [NOW - timedelta(hours=2), NOW - timedelta(hours=1)],
        ),
        (
            "dead:2026-01-01..2026-01-02",
            "(d.died_at >= %s::timestamptz and d.died_at < %s::timestamptz)",
            [DAY, DAY + timedelta(days=2)],
        ),
        ("sent:>2026-01-01", "d.sent_at >= %s::timestamptz", [DAY + timedelta(days=1)]),
        ("sent:>=2026-01-01", "d.sent_at >= %s::timestamptz", [DAY]),
        ("failed:<2026-01-01T00:00", "d.last_failed_at < %s::timestamptz", [DAY]),
        ("failed:<=2026-01-01T00:00", "d.last_failed_at < %s::timestamptz", [DAY + timedelta(minutes=1)]),
        ('payload.a.b:"x"', "d.payload @> %s::jsonb", ['{"a": {"b": "x"}}']),
        ("payload.a:5", "d.payload @> any(%s::jsonb[])", [['{"a": 5}', '{"a": "5"}']]),
        ('payload.a:"5"', "d.payload @> %s::jsonb", ['{"a": "5"}']),
        (
            "attr.a:>5",
            "jsonb_path_exists(d.attributes, %s::jsonpath, %s::jsonb, true)",
            ['strict $."a" ? (@ > $bound)', '{"bound": 5}'],
        ),
        (
            "payload.a:1..2",
            "jsonb_path_exists(d.payload, %s::jsonpath, %s::jsonb, true)",
            ['strict $."a" ? (@ >= $low && @ <= $high)', '{"low": 1, "high": 2}'],
        ),
        (
            'payload.a."b\\"c":*',
            "jsonb_path_exists(d.payload, %s::jsonpath, %s::jsonb, true)",
            [r'strict $."a"."b\"c"', "{}"],
        ),
        ("state:dead", "true", []),
        ("state:ready", "false", []),
        ("-state:ready", "(false) is not true", []),
    ],
)
def test_dead_letters_are_asked(text, sql, params):
    assert parse(text).compile(Target.DEAD_LETTER, NOW) == Predicate(sql, params)


@pytest.mark.parametrize(
    ("target", "text", "sql"),
    [
        ("ready", "queue:a", f"m.queue_id = any({QUEUE_IDS})"),
        ("ready", "attempts:1", "t.receive_count = %s::bigint"),
        ("ready", "state:ready,scheduled", "true"),
        ("scheduled", "state:failed", "t.receive_count > 0"),
        ("scheduled", "-state:failed", "(t.receive_count > 0) is not true"),
        ("scheduled", "state:failed,pending", "(t.receive_count > 0 or t.receive_count = 0)"),
        ("scheduled", "state:scheduled,failed", "true"),
        ("lease", "consumer:w", "t.consumer = %s::text"),
        ("settled", "state:completed", "t.outcome = 'a'"),
        ("message", "id:7", "m.message_id = %s::bigint"),
        ("message", "age:<1h", "m.sent_at > %s::timestamptz"),
    ],
)
def test_messages_are_asked(target, text, sql):
    assert parse(text).compile(target, NOW).sql == sql


@pytest.mark.parametrize(
    ("target", "text", "token", "expected"),
    [
        ("ready", "queue:a -class:X,Y", "-class:X,Y", "class: only with dead letters"),
        ("lease", "error:timeout", "error:timeout", "error: only with dead letters"),
        ("message", "state:ready", "state:ready", "state: only with dead letters, ready messages,"),
        (
            "message",
            "attempts:1",
            "attempts:1",
            "ready messages, scheduled messages, messages waiting for their group",
        ),
        ("dead_letter", "", None, None),
        (
            "ready",
            "consumer:w",
            "consumer:w",
            "consumer: only with dead letters, messages in flight, completed messages",
        ),
    ],
)
def test_a_key_out_of_place_says_where_it_belongs(target, text, token, expected):
    if token is None:
        assert parse(text).compile(target, NOW).sql == "true"
        return
    with pytest.raises(FilterError) as caught:
        parse(text).compile(target, NOW)
    mistake = caught.value
    assert (mistake.position, mistake.token) == (text.index(token), token)
    assert mistake.message.endswith(f"does not work for {Target(target).phrase}.")
    assert expected in mistake.expected


def test_ages_are_frozen_at_the_time_given():
    later = NOW + timedelta(days=1)
    assert parse("age:>1h").compile("dead_letter", later).params == [later - timedelta(hours=1)]


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        parse("age:>1h").compile("dead_letter", datetime(2026, 1, 1))  # noqa: DTZ001


def test_an_unknown_target_is_refused():
    with pytest.raises(ValueError, match="tables"):
        parse("queue:a").compile("tables", NOW)


VOCABULARY = re.compile(
    r"exists|jsonb_path_query|jsonb_typeof|one\(value\)|one\.value|'string'|'number'|'boolean'|in|#>>|'\{\}'(?:::jsonb)?|~\*?"
    r"|and|or|is not true|is not null|true|false|between|i?like|any|array|select|from|join|on|where|name|strict"
    r"|(?:d|m|t|q|o)\.[a-z_]+|queue_id|signalbox\.(?:queue q|tenant o|queue|tenant)|jsonb_path_exists|::text"
    r"|'a'|%s::(?:text|bigint|timestamptz|jsonb|jsonpath)(?:\[\])?|0|@>|[<>]=?|=|[(),\s]"
)


@given(st.sampled_from(list(Target)).flatmap(lambda target: st.tuples(st.just(target), filters(target))))
def test_nothing_but_our_own_words_is_in_the_sql(target_and_filter):
    target, asked = target_and_filter
    predicate = asked.compile(target, NOW)
    assert VOCABULARY.sub("", predicate.sql) == ""
    assert predicate.sql.count("%s") == predicate.sql.count("%") == len(predicate.params)


@pytest.mark.parametrize("values", [(Comparison("> 0 or 1 =", "3"),), (Literal("3) or (1=1"),)])
@pytest.mark.parametrize("key", ["attempts", "dead", "age", "payload"])
def test_terms_made_by_hand_cannot_bring_sql(key, values):
    term = Term(key, values, ("a",) if key == "payload" else ())
    try:
        predicate = Filter((term,)).compile("dead_letter", NOW)
    except (KeyError, ValueError):
        return
    assert "1" not in predicate.sql


def test_every_key_is_answered_somewhere_by_its_example():
    for key in KEYS.values():
        [term] = parse(key.example).terms
        assert term.key == key.name
        assert key.targets
        for target in key.targets:
            assert parse(key.example).compile(target, NOW).sql
