"""Shapes of requests and answers: what both protocols read from and write to.

A structure names its members. A list or map also has the names that its entries have in the query protocol, such as
`Attribute.1.Name`.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from console.api.sqs.errors import SqsError, missing

LARGEST = 2**63


@dataclass(frozen=True)
class Scalar:
    """Text, a whole number, a truth value, or bytes; `word` names the type in errors."""

    word: str


TEXT, INTEGER, BOOLEAN, BYTES = (Scalar(word) for word in ("String", "Integer", "Boolean", "Blob"))


@dataclass(frozen=True)
class ListOf:
    """A list; in the query protocol the entries have the name `entry`, followed by a number."""

    member: Any
    entry: str


@dataclass(frozen=True)
class MapOf:
    """A map from text; in the query protocol an entry has the name `entry`, and two parts."""

    value: Any
    entry: str
    key_word: str = "Name"
    value_word: str = "Value"


@dataclass(frozen=True)
class Structure:
    """Named members, of which some are required."""

    members: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()


def read(shape: Any, value: Any, name: str) -> Any:
    """Check a JSON value against a shape and return it; bytes are decoded. Raises `SqsError`."""
    match shape:
        case Structure():
            return _structure(shape, value, name)
        case ListOf():
            return [read(shape.member, one, name) for one in _typed(value, list, "List", name)]
        case MapOf():
            entries = _typed(value, dict, "Map", name).items()
            return {_text(key, name): read(shape.value, one, name) for key, one in entries}
    return _scalar(shape, value, name)


def require(shape: Structure, found: Mapping[str, Any]) -> None:
    """Check that every required member is there. Raises the error of the first that is missing."""
    for required in shape.required:
        if required not in found:
            raise missing(required)


def _structure(shape: Structure, value: Any, name: str) -> dict[str, Any]:
    given = _typed(value, dict, "Structure", name)
    found = {
        member: read(shape.members[member], one, member)
        for member, one in given.items()
        if member in shape.members and one is not None
    }
    require(shape, found)
    return found


def _scalar(shape: Scalar, value: Any, name: str) -> Any:
    if shape is TEXT:
        return _text(_typed(value, str, shape.word, name), name)
    if shape is BOOLEAN:
        return _typed(value, bool, shape.word, name)
    if shape is INTEGER:
        return _whole(value, name)
    return _bytes(_typed(value, str, shape.word, name), name)


def _typed(value: Any, kind: type, word: str, name: str) -> Any:
    if not isinstance(value, kind):
        raise SqsError("SerializationException", f"{name} must be of the type {word}.")
    return value


def _text(text: str, name: str) -> str:
    """Refuse half of a surrogate pair, which no encoding can carry."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise SqsError("InvalidMessageContents") if name == "MessageBody" else _unreadable(name)
    return text


def _unreadable(name: str) -> SqsError:
    return SqsError("SerializationException", f"{name} has half of a surrogate pair, which is not text.")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= LARGEST:
        raise SqsError("SerializationException", f"{name} must be of the type Integer.")
    return value


def _bytes(text: str, name: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise SqsError("SerializationException", f"{name} must be base64.") from None
