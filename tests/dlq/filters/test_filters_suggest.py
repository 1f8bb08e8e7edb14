"""Suggestions of the filter bar for partial input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.filters import KEYS, Target, complete
from tests.dlq.filters.filter_strategies import SYNTAX


def offered(text: str, target: Target | None = None) -> list[str]:
    return list(complete(text, len(text), target).options)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("qu", ["queue:"]),
        ("-QU", ["queue:"]),
        ("queue:a at", ["attempts:", "attr."]),
        ('error:"a b" re', ["reason:", "redrives:"]),
        ("state:re", ["ready"]),
        ("-state:ready,p", ["pending", "processing"]),
        ("reason:", ["rejected", "runtime_error", "lock_expired"]),
        ("queue:or", []),
        ("payload.a", []),
        ("nothing:r", []),
    ],
)
def test_keys_and_known_words_are_offered(text, options):
    assert offered(text) == options


def test_all_keys_are_offered_for_a_new_term():
    assert len(offered("")) == len(offered("queue:a ")) == len(KEYS)


def test_only_keys_that_the_rows_answer_are_offered():
    assert offered("", Target.MESSAGE) == [
        "queue:",
        "tenant:",
        "text:",
        "name:",
        "group:",
        "priority:",
        "age:",
        "sent:",
        "trace:",
        "dedup:",
        "id:",
        "payload.",
        "attr.",
    ]


@pytest.mark.parametrize(
    ("text", "key", "prefix"),
    [
        ("queue:or", "queue", "or"),
        ("queue:a,", "queue", ""),
        ("queue:a,b", "queue", "b"),
        ("-payload.a.b:x", "payload.a.b", "x"),
        ('payload."a b".c:"x y', 'payload."a b".c', '"x y'),
        ('queue:"a,b"', "queue", '"a,b"'),
        ('error:"a', "error", '"a'),
        ("payload.ord", "", "payload.ord"),
    ],
)
def test_the_caller_learns_what_is_being_typed(text, key, prefix):
    completion = complete(f"fp:x {text} more", len(f"fp:x {text}"))
    assert (completion.key, completion.prefix) == (key, prefix)
    assert completion.position == len(f"fp:x {text}") - len(prefix)


@given(st.lists(st.sampled_from([*SYNTAX, "queue", "payload", "state"]), max_size=10).map("".join))
def test_any_half_typed_text_is_understood(text):
    completion = complete(text, len(text))
    assert text[completion.position :] == completion.prefix
