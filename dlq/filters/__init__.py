"""The filter language: one text that browses, counts, plans and exports, in the console and in the API.

`parse(text)` gives a `Filter` or a `FilterError` that points at the mistake; `Filter.compile(target, now)`
gives one SQL condition with bound parameters. docs/filters.md describes the language for its users.
"""

from dlq.filters.errors import FilterError
from dlq.filters.filter import Filter, parse
from dlq.filters.keys import KEYS, Key, Kind
from dlq.filters.predicates import Predicate
from dlq.filters.scanner import MAX_CHARACTERS
from dlq.filters.suggest import Completion, Option, complete
from dlq.filters.syntax import EACH, Comparison, Literal, Path, Pattern, Present, Range, Term, Value
from dlq.filters.targets import Target

__all__ = [
    "EACH",
    "KEYS",
    "MAX_CHARACTERS",
    "Comparison",
    "Completion",
    "Filter",
    "FilterError",
    "Key",
    "Kind",
    "Literal",
    "Option",
    "Path",
    "Pattern",
    "Predicate",
    "Present",
    "Range",
    "Target",
    "Term",
    "Value",
    "complete",
    "parse",
]
