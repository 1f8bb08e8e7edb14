"""A parsed filter: pages compile it, look up its values, and add or remove terms."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from dlq.filters.compile import admits, compile_terms
from dlq.filters.grammar import parse_terms
from dlq.filters.keys import KEYS, Target
from dlq.filters.scanner import MAX_CHARACTERS
from dlq.filters.syntax import Comparison, Literal, Path, Pattern, Present, Range, Term, Value, quote, render_value
from dlq.filters.values import MAX_VALUES
from queues.database.query import Predicate


@dataclass(frozen=True)
class Filter:
    """Terms that must all match; `str()` gives canonical text, which parses to an equal filter."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(str(term) for term in self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def compile(self, target: Target | str, now: datetime) -> Predicate:
        """Return the condition on the rows of `target`; ages count up to `now`.

        Raises `FilterError` for a key that the target cannot answer.
        """
        return compile_terms(self.terms, Target(target), now)

    def admits(self, target: Target | str) -> bool:
        """Tell whether the `state:` terms can match rows of `target`; true without such terms."""
        return all(admits(term, Target(target)) for term in self.terms if term.key == "state")

    @property
    def patterns(self) -> list[Pattern]:
        """Return its regular expressions, in order."""
        return [pattern for term in self.terms for pattern in term.patterns]

    def values(self, key: str, path: Path = (), negated: bool = False) -> tuple[str, ...]:
        """Return the single values of the terms with this key, in order and without duplicates, bounds and ranges."""
        terms = (term for term in self._of(key, path) if term.negated is negated)
        return tuple(dict.fromkeys(text for term in terms for text in term.literals))

    def held_to_names(self) -> Filter:
        """Replace `text:` by `name:`, so that words are not searched in payloads and errors."""
        return Filter(tuple(replace(term, key="name") if term.key == "text" else term for term in self.terms))

    def without(self, key: str, path: Path = ()) -> Filter:
        """Return this filter without the terms of the key; an empty path means all paths."""
        gone = self._of(key, path)
        return self._of_terms(term for term in self.terms if term not in gone)

    def with_term(self, key: str, *values: Operand, path: Path = (), negated: bool = False) -> Filter:
        """Return this filter with one more term, if the filter does not have it. Of several values one must match.

        A string matches literally. Only for keys that compare, it has the syntax of a filter: `">3"` or `"1h..2h"`.
        Numbers, true, false and None are for paths into documents. Raises `FilterError` when the key does not take
        the value, or when the new filter is too long.
        """
        minus = "-" if negated else ""
        written = ",".join(_written(key, value) for value in values)
        [term, *more] = parse_terms(f"{minus}{Term(key, (), path).name}:{written}")
        if more:
            raise more[0].error("One term is added at a time.", "a single term")
        return self if term in self.terms else self._of_terms([*self.terms, term])

    def bounded(self) -> Filter:
        """Return this filter. Raises `FilterError` when it is longer than a filter may be."""
        for term in self.terms:
            if len(term.values) > MAX_VALUES:
                raise term.error(f"{term.key}: has more than {MAX_VALUES} values.", f"at most {MAX_VALUES}")
        if (characters := len(str(self))) > MAX_CHARACTERS:
            message = f"Written out in full the filter is {characters:,} characters long."
            raise self.terms[-1].error(message, f"at most {MAX_CHARACTERS:,}")
        return self

    def _of_terms(self, terms: Iterable[Term]) -> Filter:
        """Parse the terms again: this checks the limits and sets the positions in the text of the new filter."""
        return parse(" ".join(str(term) for term in terms))

    def _of(self, key: str, path: Path) -> list[Term]:
        return [term for term in self.terms if term.key == key and (not path or term.path == path)]


Operand = str | int | float | None | Value


def parse(text: str) -> Filter:
    """Read a filter; raises `FilterError` at the first mistake."""
    return Filter(parse_terms(text)).bounded()


def _written(key: str, value: Operand) -> str:
    if isinstance(value, Literal | Comparison | Range | Present | Pattern):
        return render_value(key, value)
    if not isinstance(value, str):
        return json.dumps(value)
    compares = key in KEYS and KEYS[key].kind.ordered and not KEYS[key].takes_path
    return value if compares else quote(value)
