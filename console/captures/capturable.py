"""Tables that people and API keys may capture: the setting CAPTURE_TABLES. Imports no Django, whose settings use it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capturable:
    """Pairs of a table and the tenant whose streams may capture it; None: every tenant."""

    pairs: tuple[tuple[str, str | None], ...] = ()

    def allows(self, table: str, tenant: str) -> bool:
        """Return whether streams of the tenant may capture the table."""
        return table in self.tables(tenant)

    def tables(self, tenant: str) -> list[str]:
        """Return the tables that streams of the tenant may capture."""
        return [table for table, allowed in self.pairs if allowed in (None, tenant)]


def parse(items: list[str]) -> Capturable:
    """Parse `public.orders@shop`: a table with its schema, and the tenant. Raises `ValueError`."""
    pairs = []
    for item in items:
        table, at, tenant = (part.strip() for part in item.partition("@"))
        schema, _, name = table.partition(".")
        if not (schema and name) or bool(at) != bool(tenant) or len(table) > 200:
            raise ValueError(f"tables with their schema, such as public.orders@shop,public.rates, not {item!r}")
        pairs.append((table, tenant or None))
    return Capturable(tuple(pairs))
