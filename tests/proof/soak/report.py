"""Change of each figure between the middle quarters of a soak and its last one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.proof.soak.looking import PIPELINE, Sample


@dataclass(frozen=True)
class Growth:
    """Medians: the higher one of the second and the third quarter, and that of the last.

    What happens once may happen late, such as the imports of a first archive, and a crash of the server restarts it.
    """

    name: str
    early: float
    late: float
    highest: float
    slack: tuple[float, float]
    """What is no growth: this share of what was there, and so much besides."""

    @property
    def is_flat(self) -> bool:
        share, more = self.slack
        return self.late <= self.early * (1 + share) + more


OF_MEMORY, OF_DESCRIPTORS, OF_SESSIONS, OF_TABLES, OF_DEAD = (0.05, 4), (0.1, 4), (0.05, 2), (0.2, 2), (0.5, 2_000)
OF_DATABASE = {
    "sessions": OF_SESSIONS, "hot tables MB": OF_TABLES, "dead rows of hot tables": OF_DEAD, "catalog MB": OF_TABLES,
}  # fmt: skip


def growths(samples: Sequence[Sample]) -> list[Growth]:
    """Figures that must not grow. Those of the pipeline change with its runs."""
    found = []
    for role in sorted({role for sample in samples for role in sample.memory_mb} - {PIPELINE}):
        found += [
            _growth(f"memory MB, {role}", samples, _of(role, lambda one: one.memory_mb), OF_MEMORY),
            _growth(f"descriptors, {role}", samples, _of(role, lambda one: one.descriptors), OF_DESCRIPTORS),
            _growth(f"threads, {role}", samples, _of(role, lambda one: one.threads), OF_DESCRIPTORS),
        ]
    for name, slack in OF_DATABASE.items():
        found.append(_growth(name, samples, _of(name, lambda one: one.database), slack))
    return found


def report(samples: Sequence[Sample], faults: Mapping[str, int]) -> str:
    """Report as a Markdown table."""
    return "\n".join(_lines(samples, faults))


def _lines(samples: Sequence[Sample], faults: Mapping[str, int]) -> Iterator[str]:
    answered = [sample for sample in samples if sample.database]
    first, last = answered[0], answered[-1]
    messages = last.database["messages"] - first.database["messages"]
    seconds = last.seconds - first.seconds
    yield f"{seconds / 60:.0f} minutes, {len(samples)} looks, {messages:,.0f} messages ({messages / seconds:.0f}/s)"
    grown = last.database["database MB"] - first.database["database MB"]
    yield f"database: {grown:,.1f} MB more, {grown * 2**20 / max(1, messages):,.0f} bytes for each message"
    yield f"relations: {first.database['relations']:.0f}, then {last.database['relations']:.0f}"
    yield ""
    yield "| fault | times |"
    yield "|---|--:|"
    for kind, times in sorted(faults.items()):
        yield f"| {kind} | {times} |"
    yield ""
    yield "| | middle quarters | last quarter | highest | flat |"
    yield "|---|--:|--:|--:|---|"
    for one in growths(samples):
        yield f"| {one.name} | {one.early:,.0f} | {one.late:,.0f} | {one.highest:,.0f} | {_word(one)} |"


def _word(growth: Growth) -> str:
    return "yes" if growth.is_flat else "**no**"


def _of(name: str, part: Callable[[Sample], Mapping[str, float]]) -> Callable[[Sample], float | None]:
    return lambda sample: part(sample).get(name)


def _growth(
    name: str, samples: Sequence[Sample], value: Callable[[Sample], float | None], slack: tuple[float, float]
) -> Growth:
    quarter = len(samples) // 4
    second, third, last, all_ = (
        [found for one in some if (found := value(one)) is not None]
        for some in (samples[quarter : 2 * quarter], samples[2 * quarter : 3 * quarter], samples[-quarter:], samples)
    )
    early, late = max(_median(second), _median(third)), _median(last)
    return Growth(name, early, late, max(all_), slack)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
