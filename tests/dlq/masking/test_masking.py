"""Masked values do not come through: not at any depth, not in any spelling, not by asking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.masking.masks import (
    MASK,
    Rules,
    Steps,
    covers,
    mask,
    masked_values,
    parse_path,
    scrub,
    scrub_document,
    touches,
)
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


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ("items.sku", "items.0.sku"),
        ("items.0.sku", "items.0.sku"),
        ("items.a.b", "items.*.a.b"),
        ("items", "items.0.sku"),
        ("lists", "lists.0.1.2"),
        ("pair", "**.1"),
    ],
)
def test_a_question_passes_through_an_array_of_which_a_rule_names_elements(asked: str, rule: str) -> None:
    assert touches(parse_path(asked), rules(rule))


RULES = (
    st.lists(KEYS | st.sampled_from(["0", "1", "*", "**"]), min_size=1, max_size=4)
    .map(tuple)
    .filter(lambda r: r != ("**",))
)


def paths_to(node: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Each scalar with the names on the way, as a filter asks for it: lists are passed through by `[]`."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from paths_to(value, (*path, key))
    elif isinstance(node, list):
        for value in node:
            yield from paths_to(value, path)
    else:
        yield path, node


@given(document=DOCUMENTS, rule=RULES)
def test_whatever_is_masked_cannot_be_asked_for(document: Any, rule: Steps) -> None:
    hidden = masked_values(document, [rule])

    for path, value in paths_to(document):
        if path and value in hidden and not touches(path, [rule]):
            # The same value in the open elsewhere may be asked for there.
            assert (path, value) in list(paths_to(mask(document, [rule])))


@given(document=DOCUMENTS, rule=RULES, other=RULES)
def test_rules_that_cover_others_mask_what_those_mask(document: Any, rule: Steps, other: Steps) -> None:
    assert covers([rule], [rule])
    if covers([rule], [other]):
        assert masked_values(document, [other]) <= masked_values(document, [rule])


@pytest.mark.parametrize(
    ("rule", "other", "covered"),
    [
        ("card", "card.number", True),
        ("CARD", "card", True),
        ("**.iban", "to.iban", True),
        ("*.email", "to.email", True),
        ("a.**", "a.b", True),
        ("card.number", "card", False),
        ("to.email", "*.email", False),
        ("to.iban", "**.iban", False),
        ("items.0.sku", "items.sku", False),
    ],
)
def test_which_rules_cover_which(rule: str, other: str, covered: bool) -> None:
    assert covers(rules(rule), rules(other)) is covered
    assert Rules(frozenset(rules(rule))).covers(Rules(frozenset(rules(other)))) is covered
    assert not Rules(frozenset(rules(rule))).covers(Rules(attributes=frozenset(rules(other))))


def test_attributes_lose_what_their_error_quotes() -> None:
    masked = Rules(frozenset(rules("card.number")))
    received = {"dead_letter": {"queue": "orders", "error": "bad card 411122223333"}, "region": "eu"}

    known = masked.view({"card": {"number": "411122223333"}}, received)
    elsewhere = masked.view(None, received, complete=False)
    cut = {"dead_letter": {"error": "x" * 990 + "4111222233"}}

    assert known.attributes(received) == {
        "dead_letter": {"queue": "orders", "error": f"bad card {MASK}"},
        "region": "eu",
    }
    assert elsewhere.attributes(received) == {"dead_letter": {"queue": "orders", "error": MASK}, "region": "eu"}
    assert known.attributes(cut) == {"dead_letter": {"error": MASK}}
    assert Rules().view(None, received).attributes(received) is received


def test_a_view_shows_nothing_that_quotes_what_is_not_at_hand() -> None:
    view = Rules(frozenset(rules("card"))).view(None, complete=False)

    assert (view.text("some error"), view.document({"seen": 1}), view.text(None)) == (MASK, MASK, None)


def test_values_of_former_payloads_are_not_quoted_either() -> None:
    view = Rules(frozenset(rules("card"))).view({"card": "new-card"}).also({"card": "old-card"})

    assert view.text("old-card became new-card") == f"{MASK} became {MASK}"


def test_paths_of_many_wildcards_are_compared_in_little_time() -> None:
    asked, rule = ("0",) * 16 + ("a",), ("*",) * 19 + ("b",)
    deep = ("**", "a") * 10

    assert touches(asked, [rule])
    assert not touches(("c", *asked), [("c", *("0",) * 18, "b")])
    assert covers([deep], [deep])
    assert not covers([deep], [("a",) * 9 + ("b",) * 10])
