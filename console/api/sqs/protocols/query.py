"""The query protocol: a form whose field Action names the operation, and XML answers.

A list or map is written as numbered fields, such as `Attribute.1.Name`. Fields are put into a tree first; a number
only orders its entry, so that a large one costs nothing. XML is only written, never parsed.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from console.api.sqs.errors import SqsError
from console.api.sqs.protocols.answer import Answer
from console.api.sqs.protocols.shapes import BOOLEAN, BYTES, INTEGER, ListOf, MapOf, Structure, read, require

NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"
CONTENT_TYPE = "text/xml"
OLD_TEXTS = {
    "The specified queue does not exist.": "The specified queue does not exist for this wsdl version.",
}
"""Texts that differ in this protocol, by those of JSON."""

MAX_FIELDS = 10_000
MAX_DEPTH = 8

_NUMBER = re.compile(r"[0-9]{1,9}")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")

Tree = dict[str | None, Any]


def fields_in(query: str, body: bytes) -> dict[str, str]:
    """Return the fields of the address and of the body. The last of several with one name counts."""
    try:
        form = body.decode()
        pairs = parse_qsl(query, True, errors="strict", max_num_fields=MAX_FIELDS)
        pairs += parse_qsl(form, True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise SqsError("SerializationException", "The fields are not a form in UTF-8, or are too many.") from None
    return dict(pairs)


def read_request(shape: Structure, fields: Mapping[str, str]) -> dict[str, Any]:
    """Read the fields of a request by the shape of the operation's input."""
    found: dict[str, Any] = _structure(shape, _tree(fields))
    require(shape, found)
    return found


def _tree(fields: Mapping[str, str]) -> Tree:
    """Return the fields as a tree: a level for each part of a name, with the value of a field under the key None."""
    tree: Tree = {}
    for name, value in fields.items():
        node = tree
        for part in name.split(".", MAX_DEPTH):
            node = node.setdefault(part, {})
        node[None] = value
    return tree


def _structure(shape: Structure, tree: Tree) -> dict[str, Any]:
    found = {}
    for name, member in shape.members.items():
        node = tree.get(member.entry if isinstance(member, ListOf | MapOf) else name)
        if node is not None:
            found[name] = _value(member, node, name)
        elif isinstance(member, ListOf) and name in shape.required:
            found[name] = []  # a form cannot contain an empty list
    return found


def _value(shape: Any, node: Tree, name: str) -> Any:
    if isinstance(shape, Structure):
        found = _structure(shape, node)
        require(shape, found)
        return found
    if isinstance(shape, ListOf):
        return [_value(shape.member, one, name) for one in _entries(node)]
    if isinstance(shape, MapOf):
        return dict(_pair(shape, one, name) for one in _entries(node))
    return read(shape, _typed(shape, node.get(None, ""), name), name)


def _entries(node: Tree) -> Iterable[Tree]:
    """Return the entries in the order of their numbers. A field without numbers is itself the only entry."""
    numbered = [part for part in node if part is not None and _NUMBER.fullmatch(part)]
    return [node[part] for part in sorted(numbered, key=int)] or [node]


def _pair(shape: MapOf, node: Tree, name: str) -> tuple[str, Any]:
    key = node.get(shape.key_word, {}).get(None)
    if key is None:
        raise SqsError("MissingRequiredParameterException", name=f"{shape.entry}.N.{shape.key_word}")
    return key, _value(shape.value, node.get(shape.value_word, {}), name)


def _typed(shape: Any, text: str, name: str) -> Any:
    if shape is INTEGER:
        if not _WHOLE.fullmatch(text):
            raise SqsError("SerializationException", f"{name} is {text[:80]!r}: it must be a whole number.")
        return int(text)
    return text == "true" if shape is BOOLEAN else text


def write_answer(name: str, shape: Structure | None, values: Mapping[str, Any], request_id: str) -> Answer:
    """Return the answer of an operation as XML."""
    result = "" if shape is None else f"<{name}Result>{_members(shape, values)}</{name}Result>"
    metadata = f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
    return _document(200, f'<{name}Response xmlns="{NAMESPACE}">{result}{metadata}</{name}Response>', request_id)


def write_error(error: SqsError, request_id: str) -> Answer:
    """Return an error as XML."""
    side = "Sender" if error.kind.is_of_sender else "Receiver"
    text = _text(OLD_TEXTS.get(error.text, error.text))
    inside = f"<Type>{side}</Type><Code>{error.kind.code}</Code><Message>{text}</Message><Detail/>"
    content = (
        f'<ErrorResponse xmlns="{NAMESPACE}"><Error>{inside}</Error><RequestId>{request_id}</RequestId></ErrorResponse>'
    )
    return _document(error.kind.status, content, request_id)


def _document(status: int, content: str, request_id: str) -> Answer:
    headers = {"Content-Type": CONTENT_TYPE, "x-amzn-RequestId": request_id}
    return Answer(status, b'<?xml version="1.0"?>' + content.encode(), headers)


def _members(shape: Structure, values: Mapping[str, Any]) -> str:
    return "".join(_member(name, member, values[name]) for name, member in shape.members.items() if name in values)


def _member(name: str, shape: Any, value: Any) -> str:
    if isinstance(shape, ListOf):
        return "".join(_member(shape.entry, shape.member, one) for one in value)
    if isinstance(shape, MapOf):
        return "".join(
            f"<{shape.entry}>{_element(shape.key_word, _text(key))}{_member(shape.value_word, shape.value, one)}"
            f"</{shape.entry}>"
            for key, one in value.items()
        )
    if isinstance(shape, Structure):
        return _element(name, _members(shape, value))
    return _element(name, _scalar(shape, value))


def _element(name: str, content: str) -> str:
    return f"<{name}>{content}</{name}>"


def _scalar(shape: Any, value: Any) -> str:
    if shape is BYTES:
        return b64encode(value).decode()
    return str(value).lower() if shape is BOOLEAN else _text(str(value))


def _text(text: str) -> str:
    """Escape text. A carriage return is written by its number, because XML parsers would change it."""
    return _NOT_IN_XML.sub("\ufffd", html.escape(text).replace("\r", "&#13;"))
