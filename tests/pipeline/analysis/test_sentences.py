"""Findings of an analysis as plain sentences, with every number."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.analysis import sentences
from pipeline.analysis.sentences import Fact, say


def fact(*path: str | None, kind: str = "value", value: str = '"XX"', counts: tuple[int, ...] = ()) -> Fact:
    f, failures, s, successes = counts or (1_204, 1_281, 88, 2_950)
    return Fact(path or ("payload", "country"), kind, value, f, failures, s, successes)


def test_a_sentence_has_shares_how_much_likelier_and_all_four_counts() -> None:
    (said,) = say([fact()])

    assert said.shares == (
        "94 % of these failures have `country` = `XX`; of what succeeded in the same queue 3 % do: 32 times as likely."
    )
    assert said.counts == "1,204 of 1,281 failures, 88 of 2,950 successes."


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (
            (40, 40, 0, 300),
            "100 % of these failures have `country` = `XX`; of what succeeded in the same queue none does.",
        ),
        ((999, 1_000, 1, 900), "more than 99 % of these failures"),
        ((999, 1_000, 1, 900), "queue less than 1 % do: 899 times as likely."),
        ((30, 100, 10, 100), "10 % do: 3.0 times as likely."),
    ],
)
def test_shares_are_never_rounded_to_all_or_none(counts: tuple[int, ...], words: str) -> None:
    assert words in say([fact(counts=counts)])[0].shares


@pytest.mark.parametrize(
    ("path", "kind", "value", "words"),
    [
        (("payload", "a", "b"), "value", "17", "`a.b` = `17`"),
        (("payload", "a"), "value", '"true"', '`a` = `"true"`'),
        (("payload", "a"), "value", '"two\\nlines"', '`a` = `"two\\nlines"`'),
        (("payload", "items", None, "sku"), "value", '"bad"', "`items[].sku` = `bad`"),
        (("payload", None), "type", "null", "null in `[]`"),
        (("payload",), "type", "list", "a list as `payload`"),
        (("payload", "a.b", 'c"d'), "missing", "", """no `"a.b"."c\\"d"`"""),
        (("payload", "a"), "type", "empty list", "an empty list in `a`"),
        (("attributes", "region"), "has", "", "a `attributes.region`"),
        (("payload", "amount"), "range", "10 up to 100", "`amount` of 10 up to 100"),
        (("payload", "a`b"), "value", '"x`y"', '`"a\u2019b"` = `"x\u2019y"`'),
    ],
)
def test_each_kind_has_its_words(path: Any, kind: str, value: str, words: str) -> None:
    assert sentences.what(fact(*path, kind=kind, value=value)) == words


def test_what_has_the_same_numbers_is_said_once() -> None:
    said = say(
        [
            fact("payload", "amount", kind="range", value="10 up to 100"),
            fact("payload", "amount", value="42"),
            fact("payload", "currency", value='"X"'),
            fact("payload", "else", counts=(50, 1_281, 3, 2_950)),
        ]
    )

    assert [one.facts[0].value for one in said] == ["42", '"XX"']
    assert said[0].also == ["`currency` = `X`", "`amount` of 10 up to 100"]


def test_no_more_is_said_than_anybody_reads() -> None:
    said = say([fact("payload", f"f{n}", counts=(50 + n, 1_281, 3, 2_950)) for n in range(20)])

    assert [one.facts[0].path[1] for one in said] == [f"f{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((500, 900, 0, 214), "There are no findings: 500 failures and 900 successes were compared by 214 features"),
        ((3, 900, 0, 214), "too few failures to compare: 3 messages"),
        ((0, 900, 70, 214), "70 more were too large to be read"),
        ((50, 0, 0, 0), "There is nothing to compare with: nothing succeeded in this queue."),
        ((50, 1, 0, 0), "only 1 message succeeded"),
    ],
)
def test_when_there_is_nothing_it_says_why(numbers: tuple[int, int, int, int], words: str) -> None:
    assert words in sentences.nothing(*numbers)
