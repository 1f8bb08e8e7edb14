"""Patches of payloads: a JSON Merge Patch (RFC 7396) or a JSON Patch (RFC 6902), and why one does not apply."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer, JsonPointerException

from queues.errors import InvalidArgument
from signalbox.payloads.encoding import encode

KINDS = ("merge", "json")
MAX_OPERATIONS = 100
MAX_PATCH_BYTES = 65_536
_NEEDS = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from"}
# The largest payload in the log. A larger body is in a store and cannot be patched.
INLINE_BYTES = 262_144
# The most bytes of JSON that the operations of one patch may write into one payload. Each operation is counted before
# it runs, also when a later one removes its value. A payload copied into itself doubles each time.
MAX_WRITTEN_BYTES = INLINE_BYTES
# Differences of more lines than this are not compared line by line: that time grows with the square of the lines.
MAX_COMPARED_LINES = 500


class DoesNotApply(Exception):  # noqa: N818 - the name states the fact
    """The patch cannot be applied to this payload."""


@dataclass(frozen=True)
class Patch:
    """A patch, made by `read`, that applies to any number of payloads."""

    kind: str
    document: Any

    def apply(self, payload_text: str, most_bytes: int = INLINE_BYTES) -> str:
        """Return the patched payload as JSON text. Raises `DoesNotApply` with the reason."""
        with _readable():
            document = self._patched(load(payload_text))
            patched = json.dumps(document, ensure_ascii=False)
            encode(document)  # a payload that no client could read is not sent
        if len(patched.encode()) > most_bytes:
            raise DoesNotApply(f"it would have more than {most_bytes:,} bytes")
        return patched

    def change(self, payload_text: str, most_bytes: int = INLINE_BYTES) -> str | None:
        """Return the patched payload as JSON text; None when it is unchanged."""
        patched = self.apply(payload_text, most_bytes)
        with _readable():
            return None if is_same(json.loads(patched), json.loads(payload_text)) else patched

    def _patched(self, payload: Any) -> Any:
        if self.kind == "merge":
            return merged(payload, self.document)
        room = MAX_WRITTEN_BYTES
        # A copy, because an added value becomes part of the payload, which later operations may change.
        for number, operation in enumerate(copy.deepcopy(self.document), 1):
            try:
                room -= _bytes_written(operation, payload)
                if room < 0:
                    raise DoesNotApply(f"its operations write more than {MAX_WRITTEN_BYTES:,} bytes")
                payload = jsonpatch.JsonPatch([operation]).apply(payload, in_place=True)
            except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, IndexError) as error:
                raise DoesNotApply(f"operation {number}, {_words(operation)}: {_why(error)}") from error
        return payload


def _bytes_written(operation: dict[str, Any], payload: Any) -> int:
    """Return the bytes of JSON that an operation writes. Raises like jsonpatch when there is no value to copy."""
    if operation["op"] == "copy":
        return _json_bytes(JsonPointer(operation["from"]).resolve(payload))
    return _json_bytes(operation["value"]) if operation["op"] in ("add", "replace") else 0


def _json_bytes(document: Any) -> int:
    return len(json.dumps(document, ensure_ascii=False).encode())


def _words(operation: dict[str, Any]) -> str:
    source = f"{operation['from'][:100]} to " if "from" in operation else ""
    return f"{operation['op']} {source}{operation['path'][:100]}"


def _why(error: Exception) -> str:
    """Describe the cause without quoting the payload, which the reader may not be allowed to see."""
    if isinstance(error, jsonpatch.JsonPatchTestFailed):
        return "the value there is not the one that the test names"
    if isinstance(error, jsonpatch.JsonPatchConflict | JsonPointerException | KeyError | IndexError):
        return "there is nothing at that path"
    return "the path leads into a value that has no members"


def read(kind: str, document: Any) -> Patch | None:
    """Check the patch and return it; None without a kind. Raises `InvalidArgument`."""
    if not kind:
        if document is not None:
            raise InvalidArgument("patch needs a kind: merge or json", "patch_kind")
        return None
    if kind not in KINDS:
        raise InvalidArgument(f"patch_kind is {kind[:40]!r}: it must be merge or json", "patch_kind")
    _check_storable(document)
    if kind == "merge" and not isinstance(document, dict):
        raise InvalidArgument('patch must be a JSON object, such as {"region": "eu", "old": null}', "patch")
    if kind == "json":
        _check_operations(document)
    return Patch(kind, document)


def load(text: str) -> Any:
    """Parse JSON with exact numbers; a number that Python would round is refused."""
    return json.loads(text, parse_float=exact)


def merged(target: Any, patch: Any) -> Any:
    """Merge by RFC 7396: null removes a value, objects are merged, any other value replaces the present one."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """Return (mark, line) for each line of the patched document: "+", "-" or a space.

    Above MAX_COMPARED_LINES differing lines are not compared one by one: all old lines stand before all new ones.
    """
    old, new = _lines(before), _lines(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
    shared = [(" ", line) for line in old[:start]], [(" ", line) for line in old[len(old) - end :]]
    return [*shared[0], *_compared(old_middle, new_middle), *shared[1]]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the equal lines at the beginning of both."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _compared(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    if max(len(old), len(new)) > MAX_COMPARED_LINES:
        return [("-", line) for line in old] + [("+", line) for line in new]
    found: list[tuple[str, str]] = []
    for tag, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            found += [(" ", line) for line in old[old_start:old_end]]
        else:
            found += [("-", line) for line in old[old_start:old_end]]
            found += [("+", line) for line in new[new_start:new_end]]
    return found


def _lines(text: str) -> list[str]:
    with _readable():
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False, sort_keys=True).split("\n")


@contextmanager
def _readable() -> Iterator[None]:
    """Turn errors of depth and of long numbers into `DoesNotApply`: one such payload must not stop the others."""
    try:
        yield
    except InvalidArgument as error:
        raise DoesNotApply(f"the {error}") from error
    except RecursionError as error:
        raise DoesNotApply("it is nested too deeply") from error
    except ValueError as error:
        raise DoesNotApply(str(error)[:200]) from error


def is_same(one: Any, other: Any) -> bool:
    """Return whether two documents are the same JSON; in Python alone, true would equal 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def exact(text: str) -> float:
    """Read a number; raises `DoesNotApply` where Python would round it."""
    value = float(text)
    if Decimal(text) != Decimal(repr(value)):
        raise DoesNotApply(f"the number {text[:40]} would be rounded")
    return value


def _check_operations(document: Any) -> None:
    example = '[{"op": "replace", "path": "/region", "value": "eu"}]'
    if not isinstance(document, list) or not document:
        raise InvalidArgument(f"patch must be a list of operations, such as {example}", "patch")
    if len(document) > MAX_OPERATIONS:
        raise InvalidArgument(f"patch has {len(document)} operations: at most {MAX_OPERATIONS}", "patch")
    try:
        jsonpatch.JsonPatch(document)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, AttributeError) as error:
        raise InvalidArgument(f"patch is no JSON Patch: {error}", "patch") from error
    for operation in document:
        needed = _NEEDS.get(operation["op"])
        if needed and needed not in operation:
            raise InvalidArgument(f"patch is no JSON Patch: {operation['op']} needs {needed!r}", "patch")


def _check_storable(document: Any) -> None:
    """Refuse NUL and lone surrogates, which jsonb cannot store."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidArgument(f"patch has text that JSON cannot store: {error}", "patch") from error
    if len(text) > MAX_PATCH_BYTES:
        raise InvalidArgument(f"patch has {len(text):,} bytes: at most {MAX_PATCH_BYTES:,}", "patch")
    if b"\\u0000" in text:
        raise InvalidArgument("patch has a NUL character, which is not allowed in a payload", "patch")
