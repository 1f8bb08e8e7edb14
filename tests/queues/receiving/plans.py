"""The plans that PostgreSQL really made for the statements inside a verb.

`debug_print_plan` shows every plan at the moment it is made, those of statements inside functions too, and needs no
extension. A session that has not run a verb before shows all its plans at the first call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

TOKEN = re.compile(r"[{}()]|(?:\\.|[^\s{}()\\])+")
INDEX_SCANS = {"INDEXSCAN", "INDEXONLYSCAN", "BITMAPINDEXSCAN"}
SORTS = {"SORT", "INCREMENTALSORT"}


@dataclass(frozen=True)
class Node:
    """A node of a plan, as PostgreSQL prints it: its label and its fields, without the name of the parent struct."""

    label: str
    fields: dict[str, list[Any]]

    def within(self, *, above: str = "") -> Iterator[Node]:
        """The node and all nodes below, except the nodes below one with that label."""
        yield self
        if self.label != above:
            for values in self.fields.values():
                yield from _nodes(values, above)

    def number(self, field: str) -> int:
        return int(self.fields[field][0])

    def has(self, field: str) -> bool:
        return self.fields.get(field, ["<>"])[0] != "<>"


@dataclass(frozen=True)
class Plan:
    """One planned statement and the names of the relations it reads."""

    statement: Node
    relations: list[str]

    def scans(self, below: Node | None = None, *, above: str = "") -> Iterator[tuple[Node, str]]:
        """Every scan of a table, with the table's name."""
        for node in (below or self.statement).within(above=above):
            if "scanrelid" in node.fields:
                relation = self.relations[node.number("scanrelid") - 1]
                if relation:
                    yield node, relation

    def whole_scans(self) -> list[str]:
        """Tables read from end to end: sequentially, or by an index with neither a condition nor a limit."""
        bounded = {id(scan) for node in self.statement.within() if node.label == "LIMIT" for scan in node.within()}
        return [
            f"{node.label} {relation}"
            for node, relation in self.scans()
            if node.label == "SEQSCAN"
            or (node.label in INDEX_SCANS and not node.has("indexqual") and id(node) not in bounded)
        ]

    def sorted_relations(self) -> set[str]:
        """Tables whose rows are sorted after they were read; not the few that a limit let through."""
        sorts = [node for node in self.statement.within() if node.label in SORTS]
        return {relation for sort in sorts for _, relation in self.scans(sort, above="LIMIT")}


def plans_of(connection: psycopg.Connection[Any], statement: str, *parameters: Any) -> list[Plan]:
    """Run a statement and return the plans that were made for it and inside it."""
    printed: list[str] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        if notice.message_primary == "plan:" and notice.message_detail:
            printed.append(notice.message_detail)

    connection.execute("discard plans")
    connection.execute("set debug_pretty_print = off")
    connection.execute("set client_min_messages = log")
    connection.execute("set debug_print_plan = on")
    connection.add_notice_handler(note)
    try:
        connection.execute(statement, parameters)
    finally:
        connection.remove_notice_handler(note)
    connection.execute("reset debug_print_plan")
    connection.execute("reset client_min_messages")
    return [_plan(connection, text) for text in printed]


def _plan(connection: psycopg.Connection[Any], text: str) -> Plan:
    statement = _parse(TOKEN.findall(text))
    oids = [entry.number("relid") if "relid" in entry.fields else 0 for entry in statement.fields["rtable"][0]]
    rows = connection.execute(
        "select coalesce(c.relname, '') from unnest(%s::oid[]) with ordinality given(oid, n)"
        " left join pg_class c on c.oid = given.oid order by given.n",
        [oids],
    ).fetchall()
    return Plan(statement, [row[0] for row in rows])


def _parse(tokens: list[str]) -> Node:
    """The tree in PostgreSQL's notation: {LABEL :field value ...}, lists in parentheses."""
    position = 0

    def value() -> Any:
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            return list(until(")"))
        if token != "{":
            return token
        label = tokens[position]
        position += 1
        fields: dict[str, list[Any]] = {}
        for item in until("}"):
            if isinstance(item, str) and item.startswith(":"):
                field = fields.setdefault(item.rpartition(".")[2].lstrip(":"), [])
            else:
                field.append(item)
        return Node(label, fields)

    def until(end: str) -> Iterator[Any]:
        nonlocal position
        while tokens[position] != end:
            yield value()
        position += 1

    root: Node = value()
    return root


def _nodes(values: list[Any], above: str) -> Iterator[Node]:
    for item in values:
        if isinstance(item, Node):
            yield from item.within(above=above)
        elif isinstance(item, list):
            yield from _nodes(item, above)
