"""Names of fields in the API: the engine's names in camelCase, with a few exceptions."""

from __future__ import annotations

import re

from pydantic.alias_generators import to_camel

from queues.settings import SETTINGS
from signalbox.calls.wire_names import BATCH, RECEIVE, SEND, VISIBILITY
from signalbox.calls.wire_names import SETTINGS as WIRE_SETTINGS

OTHER_WORDS = {
    **{engine: wire for names in (SEND, BATCH, RECEIVE, VISIBILITY, WIRE_SETTINGS) for wire, engine in names.items()},
    "rate": "maxMessagesPerSecond",
    "group_name": "group",
    "table_name": "table",
    "through_position": "position",
    "rate_per_second": "maxMessagesPerSecond",
    "canary_messages": "canary",
}
"""Engine's name -> API's name. The Python client uses the reverse."""
MAX_CHARACTERS = 1_000
"""The characters of an error in which names are replaced. What follows in a longer error is a quoted value."""


def wire_field(engine_field: str) -> str:
    """Return the API's name of an engine field; a suffix such as an index in a list stays."""
    word = _WORD.match(engine_field)
    if not word:
        return engine_field
    return OTHER_WORDS.get(word[0], to_camel(word[0])) + engine_field[word.end() :]


def in_wire_words(text: str, field: str | None = None) -> str:
    """Replace the names of fields in an engine's error by the API's names.

    An error begins with the name of its field. Quoted values belong to the caller and stay unchanged.
    """
    if len(text) > MAX_CHARACTERS:
        return in_wire_words(text[:MAX_CHARACTERS], field) + text[MAX_CHARACTERS:]
    if field and text.startswith(f"{field} "):
        return f"{wire_field(field)} {in_wire_words(text[len(field) + 1 :])}"
    return _QUOTED_OR_FIELD.sub(lambda found: wire_field(found[0]) if found[0] in ENGINE_FIELDS else found[0], text)


ENGINE_FIELDS = frozenset(
    {name for name in SETTINGS if "_" in name}
    | {name for name in OTHER_WORDS if "_" in name or name == "payload"}
    | {"delay_seconds", "receipt_handle", "error_class", "trace_id", "correlation_id", "max_messages", "wait_seconds"}
)
_QUOTED_OR_FIELD = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\b[a-z]+(?:_[a-z]+)*\b""")
_WORD = re.compile(r"[a-z_]+")
