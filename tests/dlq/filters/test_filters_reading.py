"""Meaning of a filter's text, and the canonical text that is written back."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.filters import Comparison, Filter, FilterError, Literal, Present, Range, Term, parse
from tests.dlq.filters.filter_strategies import SYNTAX, filters

READINGS = [
    ("", []),
    ("   ", []),
    ("queue:orders", [Term("queue", (Literal("orders"),))]),
    ("QUEUE:Orders", [Term("queue", (Literal("Orders"),))]),
    ("queue:a,b", [Term("queue", (Literal("a"), Literal("b")))]),
    ("queue:a  -class:B", [Term("queue", (Literal("a"),)), Term("class", (Literal("B"),), negated=True)]),
    ('error:"timed out"', [Term("error", (Literal("timed out"),))]),
    (r'error:"a \"b\" \\ \n\r\t"', [Term("error", (Literal('a "b" \\ \n\r\t'),))]),
    ("timeout refused", [Term("text", (Literal("timeout"),)), Term("text", (Literal("refused"),))]),
    ("timeout,refused", [Term("text", (Literal("timeout"), Literal("refused")))]),
    ('-"a:b"', [Term("text", (Literal("a:b"),), negated=True)]),
    ("or and", [Term("text", (Literal("or"),)), Term("text", (Literal("and"),))]),
    ('"OR"', [Term("text", (Literal("OR"),))]),
    ("java.lang.NullPointerException", [Term("text", (Literal("java.lang.NullPointerException"),))]),
    ("don't", [Term("text", (Literal("don't"),))]),
    ("class:Foo::Bar,App\\Error", [Term("class", (Literal("Foo::Bar"), Literal("App\\Error")))]),
    ("class:a..b", [Term("class", (Literal("a..b"),))]),
    ("group:*", [Term("group", (Present(),))]),
    ('group:"*",*', [Term("group", (Literal("*"), Present()))]),
    ("state:DEAD,failed", [Term("state", (Literal("dead"), Literal("failed")))]),
    ("attempts:3", [Term("attempts", (Literal("3"),))]),
    ('attempts:"3"', [Term("attempts", (Literal("3"),))]),
    ("attempts:1,3..5,>=9", [Term("attempts", (Literal("1"), Range("3", "5"), Comparison(">=", "9")))]),
    ("age:>1h30m", [Term("age", (Comparison(">", "1h30m"),))]),
    ("age:0s..2w", [Term("age", (Range("0s", "2w"),))]),
    ("dead:2026-01-01", [Term("dead", (Literal("2026-01-01"),))]),
    ("dead:2026-01-01T10:30:00.5+05:30", [Term("dead", (Literal("2026-01-01T10:30:00.5+05:30"),))]),
    ('sent:<"2026-01-01 10:30"', [Term("sent", (Comparison("<", "2026-01-01 10:30"),))]),
    ("sent:2026-01-01T10:30..2026-01-01", [Term("sent", (Range("2026-01-01T10:30", "2026-01-01"),))]),
    (
        'dead:"2026-01-01 10:00".."2026-01-01 11:00"',
        [Term("dead", (Range("2026-01-01 10:00", "2026-01-01 11:00"),))],
    ),
    ("payload.a.b:x", [Term("payload", (Literal("x"),), ("a", "b"))]),
    ('payload.a:"x"', [Term("payload", (Literal("x"),), ("a",))]),
    ("payload.a:5", [Term("payload", (Literal("5"),), ("a",))]),
    ('payload.a:"5"', [Term("payload", (Literal("5", string_only=True),), ("a",))]),
    (
        'payload.a:"null",null',
        [Term("payload", (Literal("null", string_only=True), Literal("null")), ("a",))],
    ),
    ("payload.a:007", [Term("payload", (Literal("007"),), ("a",))]),
    ("payload.a:>-5", [Term("payload", (Comparison(">", "-5"),), ("a",))]),
    ("payload.a:-1..2.5", [Term("payload", (Range("-1", "2.5"),), ("a",))]),
    ("payload.a:../etc", [Term("payload", (Literal("../etc"),), ("a",))]),
    ('payload.a:"1..2"', [Term("payload", (Literal("1..2"),), ("a",))]),
    ("payload.a:*", [Term("payload", (Present(),), ("a",))]),
    ('payload."a.b"."":x', [Term("payload", (Literal("x"),), ("a.b", ""))]),
    ("Attr.Kind:v", [Term("attr", (Literal("v"),), ("Kind",))]),
]


@pytest.mark.parametrize(("text", "terms"), READINGS)
def test_text_reads_as_terms(text, terms):
    assert parse(text) == Filter(tuple(terms))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  Queue:a   -Class:B ", "queue:a -class:B"),
        ('queue:"a","b c"', 'queue:a,"b c"'),
        ("timeout", "text:timeout"),
        ("age:>90m", "age:>90m"),
        ('payload."a"."b c":"5",5,"x"', 'payload.a."b c":"5",5,x'),
        ('payload.a:"1..2"', 'payload.a:"1..2"'),
        ('class:"<lambda>","*"', 'class:"<lambda>","*"'),
        ('error:"a\nb"', r'error:"a\nb"'),
    ],
)
def test_canonical_text_drops_only_what_means_nothing(text, canonical):
    assert str(parse(text)) == canonical


@given(filters())
def test_canonical_text_reads_back_the_same(asked):
    assert parse(str(asked)) == asked
    assert str(parse(str(asked))) == str(asked)


PIECES = [
    *SYNTAX,
    "queue",
    "payload",
    "attempts",
    "age",
    "dead",
    "state",
    "1h",
    "2026-01-01",
    "OR",
    "\0",
    "\ud800",
    "é",
]


def read(text: str) -> Filter | FilterError:
    try:
        return parse(text)
    except FilterError as mistake:
        return mistake


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=20))
def test_any_text_reads_or_fails_with_its_place(text):
    match read(text):
        case FilterError() as mistake:
            assert mistake.length > 0
            assert mistake.token == text[mistake.position : mistake.position + mistake.length]
            assert mistake.message
            assert mistake.expected
        case Filter() as asked:
            assert parse(str(asked)) == asked
            assert all(text.startswith(term.source, term.position) for term in asked.terms)


@pytest.mark.parametrize(
    "text",
    [
        'payload."' + "a." * 900,
        "a." * 999,
        '"' * 1999,
        "-" * 1999,
        "payload." + '"\\"".' * 300,
        "1" * 1999 + "..",
    ],
)
def test_long_hostile_text_is_refused_or_read_at_once(text):
    """A pattern that backtracks would not come back before the test's own limit."""
    assert isinstance(read(text), Filter | FilterError)
    assert isinstance(read(f"payload.a:{text}"[:2_000]), Filter | FilterError)


def test_filters_and_mistakes_can_be_pickled():
    asked = parse('queue:a payload.b:"5"')
    assert pickle.loads(pickle.dumps(asked)) == asked
    mistake = read("queue:")
    assert str(pickle.loads(pickle.dumps(mistake))) == str(mistake)
