"""Masked values do not come through: not at any depth, not in any spelling, not by asking."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.masking import MASK, Rules, Steps, mask, masked_values, parse_path, scrub, scrub_document, touches
from queues.errors import InvalidArgument


def rules(*paths: str) -> list[Steps]:
    return [parse_path(path) for path in paths]


@pytest.mark.parametrize(
    ("path", "document", "expected"),
    [
        ("card.number", {"card": {"number": "4111", "brand": "visa"}}, {"card": {"number": MASK, "brand": "visa"}}),
        ("card", {"card": {"number": "4111"}, "n": 1}, {"card": MASK, "n": 1}),
        ("CARD.Number", {"Card": {"NUMBER": 4111}}, {"Card": {"NUMBER": MASK}}),
        ("straße", {"STRASSE": "x"}, {"STRASSE": MASK}),
        ("*.email", {"a": {"email": "x"}, "email": "y"}, {"a": {"email": MASK}, "email": "y"}),
        ("**.iban", {"iban": 1, "a": {"b": [{"iban": 2}]}}, {"iban": MASK, "a": {"b": [{"iban": MASK}]}}),
        ("a.**", {"a": {"b": {"c": 1}}, "d": 1}, {"a": MASK, "d": 1}),
        ("items.sku", {"items": [{"sku": 1}, [{"sku": 2}], 3]}, {"items": [{"sku": MASK}, [{"sku": MASK}], 3]}),
        ("items.*.sku", {"items": [{"sku": 1}, {"sku": 2}]}, {"items": [{"sku": MASK}, {"sku": MASK}]}),
        ("items.1.sku", {"items": [{"sku": 1}, {"sku": 2}]}, {"items": [{"sku": 1}, {"sku": MASK}]}),
        ("name", [{"name": "a"}, [{"name": "b"}]], [{"name": MASK}, [{"name": MASK}]]),
        ('"a.b".c', {"a.b": {"c": 1}, "a": {"b": {"c": 2}}}, {"a.b": {"c": MASK}, "a": {"b": {"c": 2}}}),
        ('"say \\"hi\\""', {'say "hi"': 1}, {'say "hi"': MASK}),
        ('""', {"": 1, "a": 2}, {"": MASK, "a": 2}),
        ("a", None, None),
        ("a", "text", "text"),
        ("a", 7, 7),
        ("a.b", {"a": "no object"}, {"a": "no object"}),
        ("a", {"a": None}, {"a": MASK}),
        ("a", {"a": []}, {"a": MASK}),
    ],
)
def test_a_path_masks_what_it_names_and_nothing_else(path: str, document: Any, expected: Any) -> None:
    before = json.dumps(document)

    assert mask(document, rules(path)) == expected
    assert json.dumps(document) == before


def test_several_rules_hold_together_and_none_changes_nothing() -> None:
    document = {"a": 1, "b": {"c": 2}}

    assert mask(document, rules("a", "b.c")) == {"a": MASK, "b": {"c": MASK}}
    assert mask(document, []) is document


def test_the_mask_tells_nothing_of_what_it_hides() -> None:
    hidden = ["", "x" * 10_000, 0, 10**50, 1.5, True, None, [], {}, {"a": 1}, [1, 2]]

    assert {json.dumps(mask({"s": value}, rules("s"))) for value in hidden} == {json.dumps({"s": MASK})}


@pytest.mark.parametrize(
    "path", ["", ".", "a.", ".a", "a..b", "**", '"a', 'a"b"', '"a"b', "x" * 201, ".".join("a" * 21)]
)
def test_a_path_that_is_none_is_refused_by_name(path: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_path(path)
    assert caught.value.field == "path"


def test_a_document_too_deep_to_look_through_is_masked_altogether() -> None:
    deep: Any = {"secret": 1}
    for _ in range(100_000):
        deep = [deep]

    assert mask(deep, rules("secret")) == MASK
    assert scrub("anything", masked_values(deep, rules("secret"))) == MASK
    assert scrub_document(deep, {"1"}) == MASK


def test_a_huge_document_is_masked_in_one_walk() -> None:
    document = {"rows": [{"email": f"{n}@x", "n": n} for n in range(20_000)]}

    masked = mask(document, rules("rows.email"))

    assert masked["rows"][19_999] == {"email": MASK, "n": 19_999}
    assert all(row["email"] == MASK for row in masked["rows"])


def test_what_a_list_cut_is_masked_altogether() -> None:
    found = Rules(payload=frozenset(rules("card")))
    text = json.dumps({"card": "4111", "x": "y"})

    assert json.loads(found.mask_text(text) or "") == {"card": MASK, "x": "y"}
    assert found.mask_text(text[:14]) == MASK
    assert found.mask_text("large body of 300000 bytes") == "large body of 300000 bytes"
    assert found.mask_text(None) is None
    assert Rules().mask_text(text[:14]) == text[:14]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("4111 1111", "card 4111 1111 was declined"),
        ("Ann", "ValueError: no ANN here"),
        ('say "x"', 'payload was {"a": "say \\"x\\""}'),
        ("Jürgen", 'got "J\\u00fcrgen"'),
        ("two\nlines", "repr: 'two\\nlines'"),
        (4111, "invalid: 4111"),
        (1.50, "invalid: 1.5"),
        ([["deep", {"k": "v-secret"}]], "saw v-secret"),
    ],
)
def test_an_error_that_quotes_a_masked_value_loses_it(value: Any, text: str) -> None:
    values = masked_values({"s": value, "other": "kept"}, rules("s"))

    scrubbed = scrub(text, values)

    assert MASK in scrubbed
    assert scrubbed != text
    for spelling in values:
        assert spelling.lower() not in scrubbed.lower()


def test_a_value_within_another_does_not_leave_its_rest() -> None:
    values = masked_values({"a": "1234", "b": "123456"}, rules("a", "b"))

    assert scrub("saw 123456 and 1234", values) == f"saw {MASK} and {MASK}"


def test_what_is_shown_may_be_quoted() -> None:
    values = masked_values({"s": "secret", "t": "shown", "n": None, "b": True}, rules("s", "n", "b"))

    assert scrub("shown true null None", values) == "shown true null None"
    assert scrub_document({"page": "shown", "seen": ["a secret"], "n": 5}, values) == {
        "page": "shown",
        "seen": [f"a {MASK}"],
        "n": 5,
    }


def test_too_many_values_mask_the_text() -> None:
    values = masked_values({"s": [f"v{n}" for n in range(2_000)]}, rules("s"))

    assert scrub("a text long enough", values) == MASK


@pytest.mark.parametrize(
    ("asked", "rule", "probes"),
    [
        ("card.number", "card.number", True),
        ("card", "card.number", True),
        ("card.number.bin", "card.number", True),
        ("Card.NUMBER", "card.number", True),
        ("card.brand", "card.number", False),
        ("a.email", "*.email", True),
        ("items.0.sku", "items.sku", True),
        ("items.0.sku", "items.*.sku", True),
        ("anything", "**.iban", True),
        ("order", "card", False),
    ],
)
def test_asking_on_the_way_or_behind_is_probing(asked: str, rule: str, probes: bool) -> None:
    assert touches(parse_path(asked), rules(rule)) is probes


KEYS = st.sampled_from(["a", "b", "A", "a.b", "", "0", "ß"])
SECRETS = st.integers(10**9, 10**9 + 99).map(lambda n: f"secret-{n}")
DOCUMENTS = st.recursive(
    SECRETS | st.none() | st.booleans() | st.integers(0, 99),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=20,
)


@given(
    document=DOCUMENTS, rule=st.lists(KEYS.map(str) | st.just("*") | st.just("**"), min_size=1, max_size=3).map(tuple)
)
def test_no_masked_value_is_left_where_a_rule_names_it(document: Any, rule: Steps) -> None:
    masked = mask(document, [rule])

    assert mask(masked, [rule]) == masked  # nothing more to hide
    hidden = {value for value in masked_values(document, [rule]) if value.startswith("secret-")}
    left = json.dumps(masked)
    # A value that was hidden may stand elsewhere too, in the open: then it was there before.
    for value in hidden:
        assert left.count(value) < json.dumps(document).count(value)
