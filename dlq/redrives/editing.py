"""Editing of one dead letter: read the payload that a person typed, and make a patch that gives this payload."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jsonpointer import escape

from dlq.redrives import patching
from dlq.redrives.patching import DoesNotApply, Patch
from dlq.redrives.plan_options import Options
from queues.errors import InvalidArgument
from signalbox.payloads.encoding import encode


def shown(payload_text: str) -> str:
    """Return a payload as a person edits it: indented, every number as it is. Raises `DoesNotApply`."""
    try:
        return json.dumps(patching.load(payload_text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError) as error:
        raise DoesNotApply("its JSON is too deep or has a number too long to edit here") from error


def read(text: str) -> Any:
    """Read the JSON that a person typed. Raises `InvalidArgument`, which names the line of a mistake."""

    def refuse_constant(name: str) -> None:
        raise InvalidArgument(f"Line {_line_of(text, name)}: {name} is not a JSON value.", "payload")

    try:
        document = json.loads(text, parse_float=_exact(text), parse_constant=refuse_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise InvalidArgument(f"Line {error.lineno}, column {error.colno}: {error.msg}.", "payload") from error
    except _Twice as error:
        line = text.count("\n", 0, text.rfind(json.dumps(error.args[0], ensure_ascii=False))) + 1
        raise InvalidArgument(
            f"Line {line}: the key {error.args[0]!r} stands twice in one object.", "payload"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"The payload is too deep or has a number too long: {error}.", "payload") from error
    encode(document)
    return document


def options(payload_text: str, edited: Any) -> Options:
    """Return the options of a redrive that sends one message with the edited payload.

    The loop guard is off, because a person chose this message. Raises `InvalidArgument` if nothing changed.
    """
    operations = _operations(patching.load(payload_text), edited)
    if not operations:
        raise InvalidArgument("The payload is unchanged. Change it, or redrive the message without an edit.", "payload")
    checked = patching.read("json", operations)
    _check_applies(checked, payload_text)
    return Options(max_redrives=None, patch_kind="json", patch=operations)


def _check_applies(patch: Patch | None, payload_text: str) -> None:
    try:
        if patch is not None:
            patch.apply(payload_text)
    except DoesNotApply as error:
        raise InvalidArgument(f"The edited payload cannot be sent: {error}.", "payload") from error


def _operations(before: Any, after: Any) -> list[dict[str, Any]]:
    """Return the JSON Patch from one payload to the other; one operation that replaces all if there were too many."""
    found = list(_differences(before, after, ""))
    whole = [{"op": "replace", "path": "", "value": after}]
    return found if len(found) <= patching.MAX_OPERATIONS else whole


def _differences(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if not (isinstance(before, dict) and isinstance(after, dict)):
        if not patching.is_same(before, after):
            yield {"op": "replace", "path": path, "value": after}
        return
    for key in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{escape(key)}"}
    for key, value in after.items():
        if key in before:
            yield from _differences(before[key], value, f"{path}/{escape(key)}")
        else:
            yield {"op": "add", "path": f"{path}/{escape(key)}", "value": value}


class _Twice(Exception):  # noqa: N818 - it names what happened
    """A key that occurs twice in one object, of which the engine would keep the last value only."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def _exact(text: str) -> Any:
    def parse(literal: str) -> float:
        try:
            return patching.exact(literal)
        except DoesNotApply as error:
            raise InvalidArgument(f"Line {_line_of(text, literal)}: {error}.", "payload") from error

    return parse


def _line_of(text: str, literal: str) -> int:
    return text.count("\n", 0, text.find(literal)) + 1
