"""Check of component keys: the builder ignores unknown keys, so a typo would lose a setting."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


class UnknownKeyError(ValueError):
    """A component has a key that its type does not know."""


def refuse_unknown(component: str, data: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise UnknownKeyError when `data` has a key outside `known`."""
    if unknown := sorted(set(data) - set(known)):
        title = data.get("title") or data.get("name") or ""
        names, others = ", ".join(unknown), ", ".join(sorted(known))
        raise UnknownKeyError(f"{component} {title!r} does not know {names}, only {others}")
