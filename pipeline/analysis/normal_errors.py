"""Normalize errors in Arrow columns by the rules of `queues/sql/failure_groups/_normal_error.sql`.

PostgreSQL takes the longest match of all branches of a pattern, and supports lookaround. Arrow's RE2, which handles a
million texts per second, takes the first matching branch and has no lookaround. Branches are therefore ordered so that
the first match is the longest, and characters that lookaround would exclude are replaced by marks before. The few texts
that need PostgreSQL's rules are normalized one by one (`_starred`). Tests compare this module with the SQL function.
"""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

RULES = "v2"
"""Version of the rules, and prefix of the fingerprints that are made by them."""
READ_CHARACTERS, KEPT_CHARACTERS = 2_000, 500

SPACE = "[\\t\\n\\v\\f\\r ]"
UNITS = "ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|bytes?|[kmgt]?i?b"
ORDINALS = "st|nd|rd|th"

LOW_LINE, SLASH, BACKSLASH, COLON = "\ue000", "\ue001", "\ue002", "\ue003"
"""Marks that replace an underscore, a word character to RE2, and a slash, backslash or colon before no path."""


def normal(errors: pa.Array) -> pa.Array:
    """Replace the parts of each error that differ between its occurrences, such as ids and numbers, by a star."""
    text = _without_addresses(_cut(errors))
    normalized = _unmarked(pc.replace_substring_regex(_marked(text), _first_is_longest(), "*"))
    undecided = pc.fill_null(pc.match_substring_regex(text, _undecided()), False)
    if pc.any(undecided).as_py():
        exact = pa.array([_starred(value) for value in text.filter(undecided).to_pylist()], pa.string())
        normalized = pc.replace_with_mask(normalized, undecided, exact)
    return _shortened(normalized)


def _cut(errors: pa.Array) -> pa.Array:
    """Cut errors to the part that is read, and close a quotation that the cut left open."""
    text = pc.utf8_slice_codeunits(errors, 0, READ_CHARACTERS)
    opened = pc.replace_substring_regex(text, '"[^"]*$', '"*"', max_replacements=1)
    long = pc.greater(pc.utf8_length(errors), READ_CHARACTERS)
    return pc.if_else(long, opened, pc.if_else(pc.equal(text, ""), '"*"', text))


def _without_addresses(text: pa.Array) -> pa.Array:
    """Keep only the host of a web address."""
    inside = "\\t\\n\\v\\f\\r \"'()<>"
    return pc.replace_substring_regex(text, f"([a-zA-Z][a-zA-Z0-9+.-]*://[^{inside}/?#]+)[^{inside}]*", r"\1")


def _shortened(text: pa.Array) -> pa.Array:
    lists = pc.replace_substring_regex(text, r"\*(?:[\t\n\v\f\r ,;]*\*)+", "*")
    return pc.utf8_slice_codeunits(pc.replace_substring_regex(lists, f"{SPACE}+", " "), 0, KEPT_CHARACTERS)


def _marked(text: pa.Array) -> pa.Array:
    for pattern, mark in (
        (r"([._*~-][a-zA-Z]):([/\\])", rf"\1{COLON}\2"),
        (r"([._*~-])/", rf"\1{SLASH}"),
        (r"([._*~-])\\", rf"\1{BACKSLASH}"),
        ("_", LOW_LINE),
    ):
        text = pc.replace_substring_regex(text, pattern, mark)
    return text


def _unmarked(text: pa.Array) -> pa.Array:
    for mark, meant in ((COLON, ":"), (SLASH, "/"), (BACKSLASH, "\\"), (LOW_LINE, "_")):
        text = pc.replace_substring(text, mark, meant)
    return text


@cache
def _undecided() -> str:
    """Pattern of texts that need PostgreSQL's rules: a unit before an underscore, or one of our own marks."""
    units = _any_case(UNITS)
    return f"[0-9](?:{_any_case(ORDINALS)})?{SPACE}?(?:{units})_|[{LOW_LINE}-{COLON}]"


@cache
def _first_is_longest() -> str:
    """The branches of `_longest` for RE2. After marking, \\b and \\B stand for the lookaround."""
    alnum, hexa, low = "[a-zA-Z0-9]", "[0-9a-fA-F]", LOW_LINE
    tail = f"(?:{_any_case(ORDINALS)})?(?:%|{SPACE}?(?:{_any_case(UNITS)})\\b|{SPACE}?µ[sS]\\b)?"
    beyond = f"(?:{_any_case(ORDINALS)})?(?:%|{SPACE}(?:{_any_case(UNITS)})\\b|µ[sS]\\b)"
    segment = f"[a-zA-Z0-9{low}.@%+~*-]+"
    slash, any_slash = r"[/\\]", rf"[/\\{SLASH}{BACKSLASH}]"
    clock = "[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    zone = "(?:[zZ]|[uU][tT][cC]|[+-][0-9]{2}:?[0-9]{2})"
    return "|".join(
        (
            r'"[^"]*"|`[^`]*`',
            r"\B'[^']*'\B",
            f"[a-zA-Z0-9{low}.+-]+@[a-zA-Z0-9-]+(?:\\.[a-zA-Z0-9-]+)*",
            f"{hexa}{{8}}-{hexa}{{4}}-{hexa}{{4}}-{hexa}{{4}}-{hexa}{{12}}",
            rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[tT ]{clock}(?: ?{zone})?)?\b",
            rf"\b{hexa}{{1,4}}:(?:{hexa}{{0,4}}:)+(?:{hexa}{{1,4}}\b|\B)",
            rf"\b[a-zA-Z]:{slash}{segment}(?:{any_slash}{segment})+{any_slash}?",
            rf"\B{slash}{segment}(?:{any_slash}{segment})+{any_slash}?",
            f"[0-9]+[eE][+-][0-9]+{tail}",
            f"[0-9]+[eE][0-9]+{beyond}",  # longer than the id that it also is
            f"[a-zA-Z]*[0-9]+[a-zA-Z]+[0-9]{alnum}*",
            f"0[xX]{hexa}+",
            *(rf"\b[0-9]{{{n}}}[a-fA-F]{hexa}{{{7 - n},}}\b" for n in range(8)),
            rf"\b[0-9]{{8,}}[a-fA-F]{hexa}*\b",
            f"[+-]?[0-9]+(?:[.,{low}][0-9]+)*(?:[eE][+-]?[0-9]+)?{tail}",
        )
    )


@cache
def _longest() -> tuple[re.Pattern[str], ...]:
    """Compile the branches of the SQL function; ASCII only, like PostgreSQL's [a-z] without case."""
    branches = (
        r'"[^"]*"|`[^`]*`',
        r"(?<![a-z0-9])'[^']*'(?![a-z0-9])",
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"[a-z0-9_.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*",
        r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:z|utc|[+-]\d\d:?\d\d))?)?(?![a-z0-9])",
        r"(?<![a-z0-9])[0-9a-f]{1,4}:(?:[0-9a-f]{0,4}:)+[0-9a-f]{0,4}(?![a-z0-9])",
        r"0x[0-9a-f]+",
        r"(?<![a-z0-9])[0-9a-f]{8,}(?![a-z0-9])",
        r"(?<![a-z0-9._*~-])(?:[a-z]:)?(?:[/\\][a-z0-9_.@%+~*-]+){2,}[/\\]?",
        r"[a-z]*\d+[a-z]+\d[a-z0-9]*",
        rf"[+-]?\d+(?:[.,_]\d+)*(?:e[+-]?\d+)?(?:{ORDINALS})?(?:%|\s?(?:{UNITS})(?![a-z0-9_]))?",
    )
    return tuple(re.compile(branch, re.IGNORECASE | re.ASCII) for branch in branches)


def _starred(text: str) -> str:
    """Replace the longest match at each position by a star, as PostgreSQL does."""
    pieces, position = [], 0
    branches = _longest()
    while position < len(text):
        end = max((match.end() for branch in branches if (match := branch.match(text, position))), default=position)
        pieces.append(text[position] if end == position else "*")
        position = max(end, position + 1)
    return "".join(pieces)


def _any_case(pattern: str) -> str:
    """Replace each of a-z by a bracket of both cases: RE2's flag would also match characters beyond ASCII."""
    return re.sub(
        r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", pattern.replace("[kmgt]", "\0")
    ).replace("\0", "[kmgtKMGT]")
