"""Filters on pages: chips, links that narrow, links that widen."""

import pytest

from dlq.filters import FilterError, Literal, Present, Target, parse

AROUND = parse("queue:a,b -queue:c state:dead payload.x:1 payload.y:2 attempts:>3,7 group:*")


def test_values_are_those_asked_for_by_key():
    assert AROUND.values("queue") == ("a", "b")
    assert AROUND.values("queue", negated=True) == ("c",)
    assert AROUND.values("payload", ("y",)) == ("2",)
    assert AROUND.values("attempts") == ("7",)
    assert AROUND.values("group") == AROUND.values("tenant") == ()


def test_values_are_named_once():
    assert parse("queue:a,b queue:b,c").values("queue") == ("a", "b", "c")


def test_a_key_can_be_taken_out():
    assert str(AROUND.without("queue")) == "state:dead payload.x:1 payload.y:2 attempts:>3,7 group:*"
    assert str(AROUND.without("payload", ("x",)).without("queue")) == "state:dead payload.y:2 attempts:>3,7 group:*"
    assert AROUND.without("tenant") == AROUND


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("queue", "a b", 'queue:"a b"'),
        ("queue", '" -queue:x', r'queue:"\" -queue:x"'),
        ("class", "*", 'class:"*"'),
        ("error", "line\nline", r'error:"line\nline"'),
        ("group", Present(), "group:*"),
        ("attempts", 3, "attempts:3"),
        ("attempts", ">3", "attempts:>3"),
        ("age", "1h..2h", "age:1h..2h"),
        ("dead", "2026-01-01..2026-01-02", "dead:2026-01-01..2026-01-02"),
    ],
)
def test_a_term_can_be_added(key, value, written):
    assert str(parse("fp:x").with_term(key, value)) == f"fp:x {written}"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("x", "x"),
        ("5", '"5"'),
        (5, "5"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        (">5", '">5"'),
        ("1..2", '"1..2"'),
    ],
)
def test_a_value_of_a_payload_becomes_a_term_of_its_type(value, written):
    assert str(parse("").with_term("payload", value, path=("a.b", "c"))) == f'payload."a.b".c:{written}'


def test_several_values_and_negation_can_be_added():
    assert str(parse("").with_term("queue", "a", "b c", negated=True)) == '-queue:a,"b c"'


def test_adding_what_is_there_changes_nothing():
    assert AROUND.with_term("state", "dead") is AROUND


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attempts", "3 queue:x"),
        ("attempts", "x"),
        ("state", "gone"),
        ("quue", "a"),
        ("payload", "a"),
        ("queue", "\0"),
    ],
)
def test_what_does_not_read_cannot_be_added(key, value):
    with pytest.raises(FilterError):
        parse("queue:a").with_term(key, value)


def test_a_filter_cannot_grow_beyond_its_bounds():
    with pytest.raises(FilterError, match="more than 50 terms"):
        parse(" ".join(f"fp:{number}" for number in range(50))).with_term("queue", "a")


def test_positions_are_those_in_the_text_of_a_derived_filter():
    derived = parse("   queue:a timeout").without("queue").with_term("class", "X")
    assert str(derived) == "text:timeout class:X"
    assert [(term.position, term.source) for term in derived.terms] == [(0, "text:timeout"), (13, "class:X")]


def test_an_empty_filter_is_false_and_filters_are_keys():
    assert not parse("")
    assert AROUND
    assert {parse("queue:a"): 1}[parse('queue:"a"')] == 1


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        ("queue:a", set(Target)),
        ("state:ready", {"ready"}),
        ("state:pending", {"ready", "scheduled", "waiting"}),
        ("state:failed", {"scheduled", "waiting"}),
        ("state:processing,completed", {"lease", "settled"}),
        ("-state:dead", set(Target) - {"dead_letter"}),
        ("-state:failed -state:ready", set(Target) - {"ready"}),
        ("state:ready state:dead", set()),
    ],
)
def test_states_tell_which_rows_are_worth_looking_at(text, admitted):
    assert {target for target in Target if parse(text).admits(target)} == admitted


def test_terms_tell_their_name_and_values():
    [term] = parse('-payload."a b".c:x,5').terms
    assert (term.name, term.negated, term.values) == ('payload."a b".c', True, (Literal("x"), Literal("5")))
