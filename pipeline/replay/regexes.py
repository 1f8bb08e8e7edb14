"""Patterns of the filter language for Java and Python: those that all of them and PostgreSQL read alike, and no others.

A pattern that means one thing in the list of dead letters and another in the archive would choose the wrong messages
without anybody's noticing. So what is not known to mean the same is refused.
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
        pieces.append(_one(piece, end))
        position = piece.end()
    text = "".join(pieces)
    try:
        re.compile(text.replace(end, r"\Z"))
    except re.error as error:
        raise _refusal(pattern, str(error)) from error
    return text


def _one(piece: re.Match[str], end: str) -> str:
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
    return pattern.error(f"The archive cannot be asked for this pattern: {what}.", _EXPECTED)
