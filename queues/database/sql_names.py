"""Put values in the place of names: SQL says `{event.delivered}`, PostgreSQL gets `3::smallint /* event.delivered */`.

| in SQL | value |
|---|---|
| `{event.delivered}` | the number of an event |
| `{events.published}` | an array of events: those that a total counts |
| `{into.ready}`, `{out_of.ready}` | an array of events: those that take a message into a state, or out of it |
| `{events.count}` | the length of an array of totals |
| `{total.published:t}`, `{depth.ready:t}` | a sum over the array `t` of totals, indexed by the events' numbers |
| `{floor.lease}`, `{priority.lowest}` | a code of `claim_floor.kind`: a table, or a priority of `ready` |
| `{flag.holds_claims}` | a bit of `queue.admission_flags` |
| `{fleet.partitions}` | the number of partitions of a queue that is placed on cells |
| `{outcome.purged}` | a one-letter code of `settled.outcome` |
| `{redriven.gone}` | a one-letter code of `redriven.outcome` |
| `{duration.work}` | a position in `queue_stat.durations` |
| `{settings.from:r}` | every setting of a queue as an assignment from the row `r`, for `update ... set` |
| `{settings.ordered:r}` | rows of two settings and their values in the row `r`: the first is at most the second |
| `{duration.sums:t.waits}` | the sum over rows of an array of buckets, bucket by bucket |

The names are those of `queues/codes.py`. A value keeps its name in a comment, so that an installed function reads well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum, IntFlag, StrEnum

from queues import codes
from queues.codes import BUCKETS, STATES
from queues.settings import DURATION_BOUNDS, ORDERED, SETTINGS

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\.([a-z_]+)(?::([\w.]+))?\}")


def rendered(text: str) -> str:
    """Put the value of each name in braces into SQL. Raises `LookupError` for a name that is not declared."""
    return _PLACEHOLDER.sub(lambda placeholder: f"{_value(*placeholder.groups())} /* {placeholder[0][1:-1]} */", text)


def _value(group: str, name: str, argument: str | None) -> str:
    members = _GROUPS[group]()
    value = members[name]
    if isinstance(value, str) and argument is None:
        return value
    if callable(value) and argument is not None:
        return value(argument)
    raise LookupError(f"{group}.{name} takes {'no' if argument else 'an'} argument")


Value = str | Callable[[str], str]


def _event_sets() -> dict[str, Value]:
    sets = {**codes.totals(), "claimable": codes.claimable()}
    return {**{name: _array(numbers) for name, numbers in sets.items()}, "count": str(codes.event_count())}


def _enumerated(members: Iterable[IntEnum | IntFlag]) -> dict[str, Value]:
    return {str(member.name).lower(): _smallint(member) for member in members}


def _letters(members: Iterable[StrEnum]) -> dict[str, Value]:
    return {member.name.lower(): f"""'{member}'::"char\"""" for member in members}


def _durations() -> dict[str, Value]:
    places = {place.name.lower(): str(int(place)) for place in codes.DurationPlace}
    bounds = ", ".join(f"{bound:g}" for bound in DURATION_BOUNDS)
    descending = ", ".join(f"{-bound * 1000:.0f}" for bound in reversed(DURATION_BOUNDS))
    return {
        **places,
        "places": str(len(places) - 2 + 2 * BUCKETS),
        "buckets": str(BUCKETS),
        "bounds": f"array[{bounds}]::double precision[]",
        "negative_bounds_ms": f"array[{descending}]::double precision[]",
        "sums": lambda array: f"array[{', '.join(f'sum({array}[{n}])' for n in range(1, BUCKETS + 1))}]::bigint[]",
    }


def _smallint(number: int) -> str:
    return f"{int(number)}::smallint"


def _array(numbers: Iterable[int]) -> str:
    return f"'{{{','.join(map(str, numbers))}}}'::smallint[]"


def _summing(added: Iterable[int], taken: Iterable[int] = ()) -> Callable[[str], str]:
    """Write a sum over an array of totals, which may lack the events that were added after it was stored."""
    signed = [("+", number) for number in added] + [("-", number) for number in taken]

    def summing(array: str) -> str:
        terms = " ".join(f"{sign} coalesce({array}[{number}], 0)" for sign, number in signed)
        return f"({terms.removeprefix('+ ')})"

    return summing


_GROUPS: Mapping[str, Callable[[], Mapping[str, Value]]] = {
    "event": lambda: {event.name: _smallint(event.number) for event in codes.EVENTS},
    "events": _event_sets,
    "into": lambda: {state: _array(codes.into(state)) for state in STATES},
    "out_of": lambda: {state: _array(codes.out_of(state)) for state in STATES},
    "total": lambda: {name: _summing(numbers) for name, numbers in codes.totals().items()},
    "depth": lambda: {state: _summing(codes.into(state), codes.out_of(state)) for state in STATES},
    "floor": lambda: _enumerated(codes.Floor),
    "priority": lambda: {"lowest": _smallint(codes.MIN_PRIORITY), "highest": _smallint(codes.MAX_PRIORITY)},
    "flag": lambda: _enumerated(codes.AdmissionFlag),
    "outcome": lambda: _letters(codes.Outcome),
    "redriven": lambda: _letters(codes.RedriveOutcome),
    "duration": _durations,
    "fleet": lambda: {"partitions": str(codes.PARTITIONS)},
    "settings": lambda: {
        "from": lambda row: ", ".join(f"{name} = {row}.{name}" for name in SETTINGS),
        "ordered": lambda row: ", ".join(
            f"('{rule.smaller}', '{rule.larger}', {row}.{rule.smaller}, {row}.{rule.larger})" for rule in ORDERED
        ),
    },
}
