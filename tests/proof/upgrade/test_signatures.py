"""Verbs may grow and must not change: what a client of the release before calls, it can go on calling.

`released/verbs.json` has the signatures that were shipped. A verb keeps its arguments, their order, types and names;
new ones come last and have defaults; what it returns stays, and columns are only ever added behind.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import pytest

from tests.engine import Engine
from tests.proof.upgrade.record import RELEASED as FOLDER
from tests.proof.upgrade.record import SIGNATURES, VERBS

Signature = dict[str, Any]

RELEASED: list[Signature] = json.loads((FOLDER / VERBS).read_text())


def serves(now: Signature, before: Signature) -> bool:
    """Return whether every call of one signature, by position or name, is a call of the other with an equal answer."""
    arguments, known = now["arguments"], before["arguments"]
    if now["name"] != before["name"] or arguments[: len(known)] != known:
        return False
    needed_now, needed_before = (len(one["arguments"]) - one["defaults"] for one in (now, before))
    answers = now["columns"][: len(before["columns"])] == before["columns"]
    same = (now["set"], now["returns"]) == (before["set"], before["returns"])
    widened = now["set"] == before["set"] and bool(before["columns"])
    return needed_now <= needed_before and answers and (same or widened)


@pytest.fixture
def signatures(engine: Engine) -> list[Signature]:
    return [row[0] for row in engine.rows(SIGNATURES)]


@pytest.mark.parametrize("before", RELEASED, ids=lambda one: f"{one['name']}-{len(one['arguments'])}")
def test_a_verb_that_was_shipped_is_there(signatures: list[Signature], before: Signature) -> None:
    able = [now for now in signatures if serves(now, before)]

    assert able, f"{before['name']} can no longer be called as it was: {before}"
    assert len(able) == 1, f"a call of {before['name']} as before would be ambiguous"


def test_the_recording_has_the_verbs_that_everybody_calls() -> None:
    names = Counter(one["name"] for one in RELEASED)

    assert {"send", "send_batch", "receive", "ack", "nack", "change_visibility", "read_stream"} <= set(names)


SEND: Signature = next(one for one in RELEASED if one["name"] == "send")
RECEIVE: Signature = next(one for one in RELEASED if one["name"] == "receive")


def changed(of: Signature, **more: Any) -> Signature:
    return copy.deepcopy(of) | more


@pytest.mark.parametrize(
    "now",
    [
        changed(SEND, arguments=SEND["arguments"][:-1]),
        changed(SEND, arguments=[*reversed(SEND["arguments"])]),
        changed(SEND, arguments=[["name", "text"], *SEND["arguments"][1:]]),
        changed(SEND, arguments=[*SEND["arguments"], ["more", "text"]]),
        changed(SEND, defaults=SEND["defaults"] - 1),
        changed(SEND, returns="text"),
        changed(SEND, name="send_it"),
    ],
)
def test_a_verb_that_changed_is_noticed(now: Signature) -> None:
    assert not serves(now, SEND)


def test_columns_that_go_are_noticed_and_more_are_allowed() -> None:
    columns = RECEIVE["columns"]

    assert not serves(changed(RECEIVE, columns=columns[1:]), RECEIVE)
    assert serves(changed(RECEIVE, columns=[*columns, ["more", "text"]]), RECEIVE)
    grown = changed(SEND, arguments=[*SEND["arguments"], ["more", "text"]], defaults=SEND["defaults"] + 1)
    assert serves(grown, SEND)
