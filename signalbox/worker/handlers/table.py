"""Handlers by the type of a message: a mapping from the attribute `type` to functions, used as one handler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.errors import InvalidArgument
from signalbox.messages import Message
from signalbox.worker.handlers.naming import Handler, is_async, load, wants_results_kept
from signalbox.worker.handlers.outcomes import Reject

#: The key of the function for messages whose type has no function of its own, or that have no type.
ANY = "*"


def load_handler(name: str) -> Handler:
    """Import the handler of this name; a mapping becomes a function that chooses by the type of the message.

    Raises InvalidArgument for a mapping that does not map texts to functions, all plain or all async.
    """
    loaded = load(name)
    return _by_type(name, loaded) if isinstance(loaded, Mapping) else loaded


def _by_type(name: str, table: Mapping[Any, Any]) -> Handler:
    wrong = [key for key, handler in table.items() if not isinstance(key, str) or not callable(handler)]
    if wrong or not table:
        raise InvalidArgument(f"handler {name} must be a mapping of types to functions", field="handler")
    kinds = {is_async(handler) for handler in table.values()}
    if len(kinds) > 1:
        raise InvalidArgument(f"handler {name} mixes plain and async functions: use two workers", field="handler")

    def plain(message: Message, *more: Any) -> Any:
        return _chosen(table, message)(message, *more)

    async def waiting(message: Message) -> Any:
        return await _chosen(table, message)(message)

    chooser: Handler = waiting if kinds == {True} else plain
    vars(chooser)["keep_results"] = all(wants_results_kept(handler) for handler in table.values())
    return chooser


def _chosen(table: Mapping[str, Handler], message: Message) -> Handler:
    """Find the function for a message. A message of an unknown type is rejected: it becomes a dead letter at once."""
    kind = message.attributes.get("type")
    handler = table.get(kind) if isinstance(kind, str) else None
    if handler := handler or table.get(ANY):
        return handler
    raise Reject(f"no handler for the type {str(kind)[:80]!r}")
