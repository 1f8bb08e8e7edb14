"""Compare the functions that the scripts in `queues/sql/` define with those in the catalog.

The owner of the schema can replace a function without its script. `migrate` restores such a function, and
`manage.py audit verify` names those of the audit. The comparison covers the properties on which a function's effect
depends: body, language, volatility, settings, and whether it runs with its owner's rights. The catalog does not keep
the text of a body in `begin atomic`, so only the form of such a body is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

_FUNCTION = re.compile(
    r"^create or replace function signalbox\.(?P<name>\w+)\b(?P<head>(?:(?!^begin atomic\b).)*?)"
    r"(?:\bas \$\$(?P<body>.*?)\$\$(?P<tail>[^;]*);|^begin atomic\b.*?^end;)",
    re.MULTILINE | re.DOTALL,
)
PARSED = "begin atomic"
"""Stands for a body that PostgreSQL parsed when the function was made: the catalog does not keep its text."""
_TRIGGER = re.compile(r"^create (?:or replace |constraint )?trigger (\w+)", re.MULTILINE)
_SETTING = re.compile(r"^\s*set (\w+) = (.+?)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")
VOLATILITIES = {"immutable": "i", "stable": "s"}
VOLATILE = "v"


@dataclass(frozen=True)
class Definition:
    """The properties on which a function's effect depends."""

    name: str
    body: str
    language: str
    volatility: str
    is_security_definer: bool
    settings: tuple[str, ...]


def declared(script: str) -> Iterator[Definition]:
    """Parse the functions that a script defines, in its order."""
    for function in _FUNCTION.finditer(script):
        options = _COMMENT.sub("", function["head"][_end_of_arguments(function["head"]) :] + (function["tail"] or ""))
        words = set(re.findall(r"\w+", options))
        language = re.search(r"\blanguage (\w+)", options)
        yield Definition(
            function["name"],
            PARSED if function["body"] is None else function["body"],
            language[1] if language else "",
            next((letter for word, letter in VOLATILITIES.items() if word in words), VOLATILE),
            "security definer" in options,
            tuple(sorted(f"{name}={value.strip(chr(39))}" for name, value in _SETTING.findall(options))),
        )


def _end_of_arguments(head: str) -> int:
    depth = 0
    for position, character in enumerate(head):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ")" and depth == 0:
            return position + 1
    return len(head)


def installed(connection: BaseDatabaseWrapper) -> set[Definition]:
    """Read the functions of the schema from the catalog."""
    with connection.cursor() as cursor:
        cursor.execute(_INSTALLED)
        rows: list[tuple[str, str, str, str, bool, list[str]]] = cursor.fetchall()
    return {
        Definition(name, body, language, volatility, is_definer, tuple(sorted(settings)))
        for name, body, language, volatility, is_definer, settings in rows
    }


def declared_triggers(script: str) -> set[str]:
    """Return the names of the triggers that a script creates."""
    return set(_TRIGGER.findall(script))


def enabled_triggers(connection: BaseDatabaseWrapper) -> set[str]:
    """Return the names of the schema's triggers that are enabled."""
    with connection.cursor() as cursor:
        cursor.execute(_ENABLED_TRIGGERS)
        return {row[0] for row in cursor.fetchall()}


def differing(wanted: Iterable[Definition], installed: set[Definition]) -> list[str]:
    """Name the functions that the catalog lacks, defines differently, or has twice where the scripts have one."""
    wanted = set(wanted)
    names = {definition.name for definition in wanted}
    return sorted(names & {definition.name for definition in wanted ^ installed})


# Qualified throughout: the catalog is asked, whatever else the search path has.
_INSTALLED = """
select p.proname::pg_catalog.text, case when p.prosqlbody is null then p.prosrc else 'begin atomic' end,
  l.lanname::pg_catalog.text, p.provolatile::pg_catalog.text, p.prosecdef,
  coalesce(p.proconfig, '{}'::pg_catalog.text[])
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) p.pronamespace
join pg_catalog.pg_language l on l.oid operator(pg_catalog.=) p.prolang
where n.nspname operator(pg_catalog.=) 'signalbox'
"""
_ENABLED_TRIGGERS = """
select t.tgname::pg_catalog.text
from pg_catalog.pg_trigger t
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) t.tgrelid
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
where n.nspname operator(pg_catalog.=) 'signalbox' and t.tgenabled operator(pg_catalog.=) 'O'
"""
