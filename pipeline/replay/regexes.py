"""Translate regular expressions of filters for Java and Python.

Filters run in PostgreSQL, and over the archive in Java and Python. A pattern with different meanings there would select
the wrong messages unnoticed, so only syntax that means the same in all three is accepted.
"""

from __future__ import annotations

import re

from dlq.filters import Pattern

_PIECE = re.compile(
    r"""
      (?P<class>\[\^?(?:\\[^a-zA-Z0-9]|\\[ds]|[^\[\]\\&])+\])
    | (?P<escape>\\(?:[^a-zA-Z0-9]|[ds]))
    | (?P<group>\((?:\?:)?(?!\?))
    | (?P<bound>\{[0-9]{1,3}(?:,[0-9]{0,3})?\}(?![+*?{]))
    | (?P<repeat>[*+?](?![+*{?]))
    | (?P<end>\$(?![*+?{]))
    | (?P<plain>[^\\\[\](){}*+?$])
    | (?P<close>\))
    """,
    re.VERBOSE | re.DOTALL,
)
_SHORT = {r"\d": "0-9", r"\s": r" \t\n\r\f\v"}
_SHORT_IN_CLASS = re.compile(r"\\[ds]")
_EXPECTED = r"characters, [...], ( ), |, *, +, ?, {n,m}, ^, $, . and \d or \s, which mean the same everywhere"


def for_python(pattern: Pattern) -> str:
    """Write the pattern for Python's `re`."""
    return _translated(pattern, r"\Z")


def for_java(pattern: Pattern) -> str:
    """Write the pattern for Java, flags included."""
    return f"(?{'iu' if pattern.ignores_case else ''}s){_translated(pattern, chr(92) + 'z')}"


def _translated(pattern: Pattern, end: str) -> str:
    pieces, position = [], 0
    while position < len(pattern.text):
        piece = _PIECE.match(pattern.text, position)
        if piece is None:
            raise _refusal(pattern, pattern.text[position : position + 4])
        pieces.append(_piece(piece, end))
        position = piece.end()
    text = "".join(pieces)
    try:
        re.compile(text.replace(end, r"\Z"))
    except re.error as error:
        raise _refusal(pattern, str(error)) from error
    return text


def _piece(piece: re.Match[str], end: str) -> str:
    match piece.lastgroup:
        case "end":
            return end
        case "escape" if piece.group() in _SHORT:
            return f"[{_SHORT[piece.group()]}]"
        case "class":
            return _SHORT_IN_CLASS.sub(lambda short: _SHORT[short.group()], piece.group())
        case _:
            return piece.group()


def _refusal(pattern: Pattern, what: str) -> Exception:
    return pattern.error(f"The archive does not support this pattern: {what}.", _EXPECTED)
