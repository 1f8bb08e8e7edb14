"""The filter language: one text that browses, counts, plans and exports, in the console and in the API.

`parse(text)` gives a `Filter` or a `FilterError` that points at the mistake; `Filter.compile(target, now)`
gives one SQL condition with bound parameters. docs/operate/filters.md describes the language for its users.
"""

from dlq.filters.filter import Filter, parse
from dlq.filters.keys import KEYS, Kind, Target
from dlq.filters.scanner import MAX_CHARACTERS, FilterError
from dlq.filters.suggest import complete
from dlq.filters.syntax import EACH, Comparison, Literal, Path, Pattern, Present, Range, Term, Value
from dlq.filters.text import short_names, whole_numbers
from queues.database.query import Predicate

__all__ = [
    "EACH",
    "KEYS",
    "MAX_CHARACTERS",
    "Comparison",
    "Filter",
    "FilterError",
    "Kind",
    "Literal",
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
    "short_names",
    "whole_numbers",
]
