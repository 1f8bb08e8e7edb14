"""The fields that a filter can ask, from `dlq/filters/keys.py`."""

from __future__ import annotations

from dlq.filters.keys import KEYS, STATES, Key, Target
from docs.build.markdown import table

PLACES = {
    frozenset(Target): "all",
    frozenset(Target) - {Target.MESSAGE}: "all but the log",
    frozenset({Target.DEAD_LETTER}): "dead letters",
    frozenset({Target.DEAD_LETTER, Target.LEASE, Target.SETTLED}): "dead letters, in flight, completed",
}


def table_of_fields() -> str:
    """Return the table of all fields."""
    return table(
        ("field", "meaning", "of", "example"),
        ((f"`{name}`", key.help, _places(key), f"`{key.example}`") for name, key in KEYS.items()),
    )


def table_of_states() -> str:
    """Return the words of `state:` and the rows that each of them matches."""
    words = dict.fromkeys(word for states in STATES.values() for word in states)
    return table(("`state:`", "matches"), ((f"`{word}`", _matched(word)) for word in words))


def _places(key: Key) -> str:
    targets = frozenset(key.targets)
    return PLACES.get(targets) or ", ".join(target.phrase for target in key.targets)


def _matched(word: str) -> str:
    return "; ".join(target.phrase + _condition(states[word]) for target, states in STATES.items() if word in states)


def _condition(sql: str) -> str:
    if "receive_count = 0" in sql:
        return " never delivered"
    return " delivered before" if "receive_count > 0" in sql else ""
