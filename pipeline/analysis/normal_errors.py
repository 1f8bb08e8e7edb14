"""Errors as templates: the rules of the live fingerprint (`queues/sql/failure_groups/_normal_error.sql`), for columns.

PostgreSQL takes the longest match of all branches and looks around; RE2, which Arrow replaces with at a million texts a
second, takes the first branch and looks nowhere. So branches stand here in such an order that the first is the longest,
and what must not be seen from the side is marked before. The few texts that this cannot decide go one by one through
`_starred`, which does as PostgreSQL does. `RULES` is the version of both: tests compare them.
"""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

RULES = "v2"
"""What fingerprints made by these rules begin with."""
READ_CHARACTERS, KEPT_CHARACTERS = 2_000, 500

SPACE = "[\\t\\n\\v\\f\\r ]"
UNITS = "ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|bytes?|[kmgt]?i?b"
ORDINALS = "st|nd|rd|th"

LOW_LINE, SLASH, BACKSLASH, COLON = "\ue000", "\ue001", "\ue002", "\ue003"
"""Stand-ins for an underscore, a word character to RE2, and for a slash, backslash and colon before no path."""


def normal(errors: pa.Array) -> pa.Array:
    """Each error with everything taken out that differs between two occurrences of the same one; null stays null."""
    text = _without_addresses(_cut(errors))
    quick = _unmarked(pc.replace_substring_regex(_marked(text), _first_is_longest(), "*"))
    unsure = pc.match_substring_regex(text, _undecided())
    if pc.any(unsure).as_py():
        undecided = pc.fill_null(unsure, False)
        slow = pa.array([_starred(value) for value in text.filter(undecided).to_pylist()], pa.string())
        quick = pc.replace_with_mask(quick, undecided, slow)
    return _shortened(quick)


def _cut(errors: pa.Array) -> pa.Array:
    """The part that is read, without a quotation that the cut has left open."""
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
    """A number with what is a unit unless an underscore follows; and our own marks."""
    units = _any_case(UNITS)
    return f"[0-9](?:{_any_case(ORDINALS)})?{SPACE}?(?:{units})_|[{LOW_LINE}-{COLON}]"


@cache
def _first_is_longest() -> str:
    """The branches of `_longest`, in RE2's words. After marking, \\b and \\B say what looking around says there."""
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
    """Build the branches of SQL; [a-z] is followed by [A-Z], since Python's flag would match more characters."""
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
    """Star as PostgreSQL does: at the first position where anything matches, the longest match."""
    found, at = [], 0
    branches = _longest()
    while at < len(text):
        end = max((match.end() for branch in branches if (match := branch.match(text, at))), default=at)
        found.append(text[at] if end == at else "*")
        at = max(end, at + 1)
    return "".join(found)


def _any_case(pattern: str) -> str:
    """Accept a-z in either case, outside brackets too; ASCII alone, unlike RE2's flag."""
    return re.sub(
        r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", pattern.replace("[kmgt]", "\0")
    ).replace("\0", "[kmgtKMGT]")
