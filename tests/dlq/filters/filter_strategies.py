"""Hypothesis strategies that draw filters: nasty texts for the grammar, and values that rows really hold."""

from collections.abc import Callable
from datetime import timedelta

from hypothesis import strategies as st

from dlq.filters import (
    EACH,
    KEYS,
    Comparison,
    Filter,
    Kind,
    Literal,
    Path,
    Pattern,
    Present,
    Range,
    Target,
    Term,
    Value,
)
from dlq.filters.keys import Key
from tests.dlq.filters.filter_rows import (
    CLASSES,
    ERRORS,
    FIRST_MESSAGE_ID,
    NOW,
    QUEUES,
    ROWS,
    SEGMENTS,
    TENANTS,
    WORDS,
)

SYNTAX = [
    "",
    "*",
    '"',
    "\\",
    ",",
    " ",
    ".",
    "..",
    ">",
    "<=",
    "-",
    ":",
    "%",
    "_",
    "'",
    "5",
    "1..2",
    "null",
    "a b",
    "\n\t",
]
OPERATORS = st.sampled_from([">", ">=", "<", "<="])
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NASTY = ANY_TEXT | st.lists(st.sampled_from(SYNTAX), max_size=4).map("".join)

SCALARS = ["x", "5", "5.0", "-2", "1e1", "true", "false", "null", "a b", "", "0.5", "007"]
NUMBERS = ["-2", "0", "0.5", "5", "5.0", "1e1", "10", "123456789012345678901234567890"]
SHAPES = st.sampled_from(
    ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M+00:00"]
)
STEPS_AGO = st.integers(0, 36).map(lambda step: timedelta(hours=6 * step))
_POOLS = {"queue": QUEUES, "tenant": TENANTS, "class": CLASSES, "error": ERRORS}


def filters(target: Target | None = None, nasty: bool = True) -> st.SearchStrategy[Filter]:
    """Filters of some keys that `target` answers."""
    keys = [key for key in KEYS.values() if target is None or target in key.targets]
    drawn = st.sampled_from(keys).flatmap(lambda key: terms(key, nasty))
    return st.lists(drawn, max_size=4).map(lambda chosen: Filter(tuple(chosen)))


def terms(key: Key, nasty: bool = True) -> st.SearchStrategy[Term]:
    """Terms of one key; `nasty` ones hold any text, others what rows may hold."""
    values = st.lists(_VALUES[key.kind](key, nasty), min_size=1, max_size=3).map(tuple)
    return st.builds(Term, st.just(key.name), values, _paths(nasty) if key.takes_path else st.just(()), st.booleans())


def _paths(nasty: bool) -> st.SearchStrategy[Path]:
    segments = st.sampled_from(SEGMENTS) | NASTY if nasty else st.sampled_from(SEGMENTS)
    common = st.sampled_from([("a",), ("b",), ("a", "b"), ("a", EACH), ("b", EACH, "a"), ("a", EACH, "a", EACH)])
    steps = st.tuples(segments) | st.tuples(segments, st.just(EACH))
    return common | st.lists(steps, min_size=1, max_size=3).map(lambda drawn: tuple(sum(drawn, ())))


_ATOMS = st.sampled_from(
    ["a", "b", "x", "t", "e", "5", "%", "_", " ", ".", "[a-e]", "[^a]", r"\.", "/", "(a|5)", "(im|x)"]
)
_PIECES_OF_PATTERNS = st.tuples(_ATOMS, st.sampled_from(["", "", "", "?", "*", "+", "{1,2}"])).map("".join)


def _branches(pieces: list[str], anchors: tuple[str, str]) -> str:
    return anchors[0] + "".join(pieces) + anchors[1]


# Of regular expressions those that PostgreSQL and Python read alike: rows hold no line feeds and patterns only ASCII.
PATTERNS = st.builds(
    Pattern,
    st.lists(
        st.builds(
            _branches,
            st.lists(_PIECES_OF_PATTERNS, min_size=1, max_size=3),
            st.tuples(st.sampled_from(["", "^"]), st.sampled_from(["", "$"])),
        ),
        min_size=1,
        max_size=2,
    ).map("|".join),
    st.booleans(),
)


def _texts(pool: list[str], nasty: bool) -> st.SearchStrategy[str]:
    return st.sampled_from(pool) | NASTY if nasty else st.sampled_from(pool)


def _names(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    literals = _texts(_POOLS.get(key.name, WORDS), nasty).map(Literal)
    if key.kind in {Kind.NAME, Kind.CLASS}:
        literals |= PATTERNS
    return literals | st.just(Present()) if key.optional else literals


def _substrings(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    pieces = st.sampled_from(ERRORS).flatmap(_pieces) | st.sampled_from(["such_", "%", "d%A", "\\"])
    return (pieces | NASTY if nasty else pieces).filter(bool).map(Literal) | st.just(Present()) | PATTERNS


def _pieces(text: str) -> st.SearchStrategy[str]:
    starts = st.integers(0, len(text) - 1)
    return starts.flatmap(lambda start: st.integers(start + 1, len(text)).map(lambda end: text[start:end]))


def _words(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    pieces = st.sampled_from([*ERRORS, *CLASSES, *QUEUES, *WORDS, *SCALARS]).filter(bool).flatmap(_pieces)
    pieces |= st.integers(FIRST_MESSAGE_ID, FIRST_MESSAGE_ID + ROWS).map(str)
    return (pieces | NASTY if nasty else pieces).filter(bool).map(Literal) | PATTERNS


def _choices(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    return st.sampled_from(key.choices).map(Literal)


def _wholes(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    numbers = st.integers(0, 8) | st.integers(0, 2**63 - 1)
    if key.largest is not None:
        numbers = st.integers(0, key.largest)
    if key.name == "id":
        numbers |= st.integers(FIRST_MESSAGE_ID, FIRST_MESSAGE_ID + ROWS)
    return numbers.map(lambda number: Literal(str(number))) | _bounds(numbers, str)


def _ages(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    return _bounds(STEPS_AGO, _duration)


def _duration(ago: timedelta) -> str:
    hours = int(ago.total_seconds()) // 3_600
    return f"{hours}h" if hours % 24 else f"{hours // 24}d"


def _times(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    moments = st.builds(_moment, STEPS_AGO, SHAPES)
    ends = st.tuples(STEPS_AGO, STEPS_AGO).map(lambda drawn: sorted(drawn, reverse=True))
    ranges = st.builds(
        lambda drawn, low, high: Range(_moment(drawn[0], low), _moment(drawn[1], high)), ends, SHAPES, SHAPES
    )
    return moments.map(Literal) | st.builds(Comparison, OPERATORS, moments) | ranges


def _moment(ago: timedelta, shape: str) -> str:
    return (NOW - ago).strftime(shape)


def _documents(key: Key, nasty: bool) -> st.SearchStrategy[Value]:
    texts = _texts(SCALARS, nasty)
    literals = st.builds(_json_literal, texts, st.booleans())
    numbers = st.sampled_from(NUMBERS)
    ranges = st.tuples(numbers, numbers).map(lambda ends: Range(*sorted(ends, key=float)))
    return literals | st.builds(Comparison, OPERATORS, numbers) | ranges | st.just(Present()) | PATTERNS


def _json_literal(text: str, string_only: bool) -> Literal:
    """Quotes mean something only around what JSON would read as no string."""
    return Literal(text, string_only and text in {"5", "5.0", "-2", "1e1", "true", "false", "null", "0.5"})


def _bounds(operands: st.SearchStrategy, written: Callable[..., str]) -> st.SearchStrategy[Value]:
    comparisons = st.builds(Comparison, OPERATORS, operands.map(written))
    ranges = st.tuples(operands, operands).map(lambda ends: Range(*(written(end) for end in sorted(ends))))
    return comparisons | ranges


_VALUES: dict[Kind, Callable[[Key, bool], st.SearchStrategy[Value]]] = {
    Kind.QUEUE: _names,
    Kind.TENANT: _names,
    Kind.NAME: _names,
    Kind.STATE: _choices,
    Kind.CHOICE: _choices,
    Kind.SUBSTRING: _substrings,
    Kind.WORDS: _words,
    Kind.CLASS: _names,
    Kind.WHOLE: _wholes,
    Kind.AGE: _ages,
    Kind.TIME: _times,
    Kind.JSON: _documents,
}
