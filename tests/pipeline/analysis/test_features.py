"""Statements about a message: bounded, each once, and none about masked values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlq.masking.masks import MASK, mask, parse_path
from pipeline.analysis import features, looking
from pipeline.analysis.features import NOTHING_HIDDEN, of_message
from pipeline.archive.schemas import KINDS

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
keys = st.sampled_from(["a", "b", "A", "card", "0", "1", "*", "**"])
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-50, 5_000) | st.sampled_from(["x", "", "two words"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
rules = st.lists(keys, min_size=1, max_size=4).map(".".join).filter(lambda path: path != "**").map(parse_path)
hidden_paths = st.frozensets(rules, min_size=1, max_size=3)


def said(payload: Any, hidden: features.Hidden = NOTHING_HIDDEN, attributes: Any = None) -> list[features.Feature]:
    return of_message(json.dumps(payload), None if attributes is None else json.dumps(attributes), hidden)


def test_paths_values_types_and_sizes_are_said_once() -> None:
    found = said({"country": "XX", "items": [{"n": 5}, {"n": 5}, {}], "none": None})

    assert found[0] == ("[]", "all", "")
    assert len(found) == len(set(found))
    assert {
        ('["payload","country"]', "has", ""),
        ('["payload","country"]', "value", '"XX"'),
        ('["payload","items",null,"n"]', "value", "5"),
        ('["payload","items",null,"n"]', "range", "1 up to 10"),
        ('["payload","items",null]', "type", "empty object"),
        ('["payload","none"]', "type", "null"),
    } <= set(found)


@pytest.mark.parametrize(
    ("number", "range_"),
    [(0, "0"), (7, "1 up to 10"), (10, "10 up to 100"), (0.25, "between 0 and 1"), (-300, "-100 down to -1,000")],
)
def test_numbers_are_said_by_their_power_of_ten(number: float, range_: str) -> None:
    assert ('["payload"]', "range", range_) in said(number)


@given(documents, hidden_paths)
def test_what_masking_hides_is_not_said_and_the_rest_is(document: Any, paths: frozenset[features.Steps]) -> None:
    """Statements about a masked message equal those about its visible part, without the masks."""
    behind = said(mask(document, paths))
    masks = {path for path, kind, value in behind if kind == "value" and value == json.dumps(MASK, ensure_ascii=False)}

    found = said(document, (paths, frozenset()))

    assert [one for one in found if one[0] not in masks] == [one for one in behind if one[0] not in masks]
    assert MASK not in repr(found)
    plain = {one[0] for one in said(document)}
    assert {one[0] for one in found} <= plain


@given(documents, hidden_paths)
@example([None, ["x"]], frozenset({("**", "1")}))
def test_a_path_that_no_rule_hides_any_more_may_be_shown(document: Any, paths: frozenset[features.Steps]) -> None:
    """The check of a finding on pages is at least as strict as the walk through a message."""
    shown = {path for path, _, _ in said(document) if path != "[]"}
    walked = {path for path, _, _ in said(document, (paths, frozenset()))}

    for path in shown - walked:
        assert features.is_hidden(json.loads(path), (paths, frozenset()))


def test_attributes_are_not_said_where_anything_of_the_payload_is_masked() -> None:
    rule = frozenset({parse_path("card")})

    assert ('["attributes","region"]', "value", '"eu"') in said({}, attributes={"region": "eu"})
    assert "attributes" not in repr(said({}, (rule, frozenset()), {"region": "eu"}))
    assert "region" not in repr(said({}, (frozenset(), frozenset({parse_path("region")})), {"region": "eu"}))
    assert features.is_hidden(["attributes", "region"], (rule, frozenset()))


@pytest.mark.parametrize(
    "text",
    [
        None,
        '"' + "x" * features.READ_CHARACTERS + '"',
        json.dumps({f"field{n}": n for n in range(features.MAX_FEATURES)}),
        '{"cut off": ',
        "[" * 60_000,
        "9" * 60_000,
    ],
    ids=["none", "too long", "says too much", "no JSON", "too deep", "a number without end"],
)
def test_what_cannot_be_looked_at_says_only_that(text: str | None) -> None:
    assert of_message(text, None) == [("[]", "unread", "")]


def test_depth_elements_keys_and_values_are_bounded() -> None:
    nested: Any = "bottom"
    for _ in range(12):
        nested = {"k": nested}
    found = said({"deep": nested, "list": list(range(1_000, 1_100)), "x" * 101: 1, "long": "y" * 100})

    assert max(len(json.loads(path)) for path, _, _ in found) == features.DEEPEST + 1
    assert len([one for one in found if one[0] == '["payload","list",null]' and one[1] == "value"]) == 20
    assert "x" * 101 not in repr(found)
    assert "yyy" not in repr(found)
    assert ('["payload","long"]', "has", "") in found


@pytest.mark.parametrize("number", ["1e400", "1" + "0" * 400, "-1" + "0" * 400 + ".5", "1" + "0" * 5000])
def test_a_number_beyond_what_a_double_holds_stops_nothing(number: str) -> None:
    found = features.of_message(f'{{"n": {number}, "country": "XX"}}', None)

    assert ('["payload","n"]', "has", "") in found or found == [("[]", "unread", "")]
    assert not any(kind == "value" and path.endswith('"n"]') for path, kind, _ in found)


def test_a_batch_has_what_was_acknowledged_in_the_queues_asked_for() -> None:
    def row(message_id: int, **given: Any) -> dict[str, Any]:
        usual = {"queue_id": 7, "outcome": "acked", "settled_at": NOON, "payload": '{"n":1}', "message_id": message_id}
        return usual | given

    rows = [
        row(1),
        row(2, queue_id=8),
        row(3, outcome="purged"),
        row(4, payload=None),
        row(5, payload='"' + "z" * 70_000 + '"'),
        row(6, queue_id=None),
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=KINDS["settled"].schema)

    found = looking.of_batch(batch, "settled", [7], {}).to_pylist()

    assert [one["message_id"] for one in found] == [1, 4, 5]
    assert [one["features"][0]["kind"] for one in found] == ["all", "unread", "unread"]
    assert found[0]["fingerprint"] is None
