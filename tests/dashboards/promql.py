"""Reader of PromQL as Prometheus parses it, for tests of dashboard queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import promql_parser

WINDOW = "1m"  # what stands here for the windows that Grafana fills in


@dataclass(frozen=True)
class Selector:
    """One choice of series in an expression. `above` are the nodes around it, from the outermost."""

    metric: str
    labels: frozenset[str]
    window: str | None
    """As written, such as 5m or $__rate_interval; None where it asks for the last value."""
    fixed: bool
    """It asks at one moment (`@ end()`), whatever the moment that is drawn."""
    above: tuple[Any, ...]

    @property
    def aggregations(self) -> list[tuple[str, tuple[str, ...]]]:
        """Aggregations of a query with their labels, from the innermost."""
        return [
            (str(node.op), tuple(node.modifier.labels) if node.modifier else ())
            for node in reversed(self.above)
            if isinstance(node, promql_parser.AggregateExpr)
        ]

    @property
    def functions(self) -> list[str]:
        """The functions around it, from the innermost."""
        return [node.func.name for node in reversed(self.above) if isinstance(node, promql_parser.Call)]


def selectors(expression: str) -> list[Selector]:
    """Every choice of series that `expression`, as Grafana holds it, makes; ValueError when it is no PromQL."""
    windows = re.findall(r"\[([^\]]+)\]", expression)
    found: list[Selector] = []
    above: list[Any] = []

    def enter(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            ranged = above and isinstance(above[-1], promql_parser.MatrixSelector)
            labels = frozenset(matcher.name for matcher in node.matchers.matchers)
            found.append(Selector(node.name, labels, windows.pop(0) if ranged else None, bool(node.at), tuple(above)))
        above.append(node)

    def leave(_node: Any) -> None:
        above.pop()

    promql_parser.walk(promql_parser.parse(plain(expression)), enter, leave)
    assert windows == [], expression
    return found


def named_labels(expression: str) -> set[str]:
    """The labels by which `expression` aggregates and matches."""
    found: set[str] = set()

    def enter(node: Any) -> None:
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier:
            found.update(node.modifier.labels)
        if isinstance(node, promql_parser.BinaryExpr) and node.modifier and node.modifier.matching:
            found.update(node.modifier.matching.labels, node.modifier.group_labels or ())

    promql_parser.walk(promql_parser.parse(plain(expression)), enter)
    return found


def plain(expression: str) -> str:
    """The expression with Grafana's windows filled in; its other variables stand in strings, where all is allowed."""
    return re.sub(r"\$__(rate_interval|range|interval)\b", WINDOW, expression)
