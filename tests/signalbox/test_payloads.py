"""Values that PostgreSQL cannot store as JSON are refused with their position."""

from __future__ import annotations

import datetime
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.errors import InvalidArgument
from signalbox.payloads.encoding import MAX_DIGITS, MAX_LEVELS, encode, encode_attributes
from tests.tiers import examples

own = []
own.append(own)
deep: list[object] = []
for _ in range(100_000):
    deep = [deep]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "at $ is nan"),
        ({"a": [1, float("-inf")]}, "at $.a[1] is -inf"),
        ({"a": {"b": {1, 2}}}, "at $.a.b is of type set"),
        ([datetime.date(2024, 1, 1)], "at $[0] is of type date"),
        ({"a": b"bytes"}, "at $.a is of type bytes"),
        ({(1, 2): 1}, "at $ has a key of type tuple"),
        ({"a": "x\x00y"}, "at $.a contains the character \\u0000"),
        ({"a\x00": 1}, "(the key) contains the character \\u0000"),
        (["\ud800"], "at $[0] contains half of a surrogate pair"),
        (own, "at $[0] contains itself"),
        (deep, "is nested too deeply"),
    ],
)
def test_the_fault_is_named_with_its_path(value, problem):
    with pytest.raises(InvalidArgument) as caught:
        encode(value)
    assert problem in str(caught.value)
    assert str(caught.value).startswith("payload ")
    assert caught.value.field == "payload"


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = {"a": value} if level % 2 else [value, 1]
    return value


def test_nothing_is_sent_that_a_consumer_might_be_too_deep_in_calls_to_read():
    assert json.loads(encode(nested(MAX_LEVELS))) == nested(MAX_LEVELS)
    with pytest.raises(InvalidArgument, match="payload is nested too deeply: at most 128 levels"):
        encode(nested(MAX_LEVELS + 1))


@pytest.mark.parametrize("sign", [1, -1])
def test_digits_of_a_number_are_limited(sign):
    longest = sign * (10**MAX_DIGITS - 1)
    assert json.loads(encode([longest, "1" * 5000])) == [longest, "1" * 5000]
    with pytest.raises(InvalidArgument, match="attributes has a number of more than 1000 digits") as caught:
        encode({"a": [1, {"b": sign * 10**MAX_DIGITS}]}, "attributes")
    assert caught.value.field == "attributes"


def test_what_is_wide_is_not_deep():
    assert encode([[{}]] * 1000) == f"[{','.join(['[{}]'] * 1000)}]"


def test_text_that_only_looks_like_nul_is_kept():
    assert json.loads(encode({"a": "\\u0000"})) == {"a": "\\u0000"}


@settings(max_examples=examples(50), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_everything_else_survives(value):
    try:
        text = encode(value)
    except InvalidArgument:
        assert "\\u0000" in json.dumps(value)
    else:
        assert json.loads(text) == value
        text.encode()


def test_attributes_are_an_object_or_nothing():
    assert encode_attributes(None) is None
    assert encode_attributes({"a": 1}) == '{"a":1}'
    with pytest.raises(InvalidArgument, match="attributes must be a mapping, not list"):
        encode_attributes([1])
