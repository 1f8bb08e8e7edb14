"""The decorator that names the queue of a handler, and the search for decorated handlers in a module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypedDict, TypeVar, Unpack

from signalbox.errors import InvalidArgument
from signalbox.worker.handlers.naming import Handler, module_of, name_of
from signalbox.worker.options import Options

H = TypeVar("H", bound=Handler)

_MARK = "__signalbox_handles__"


class HandlerOptions(TypedDict, total=False):
    """The options that a handler may set for its worker, each as in `Options`."""

    concurrency: int
    prefetch: int
    ack_delay: float
    ack_batch: int
    task_timeout: float | None
    visibility_timeout: float | None
    heartbeat: float | None
    poll_interval: float
    stop_grace: float
    cancel_grace: float
    tasks_per_process: int | None
    keep_results: bool


@dataclass(frozen=True, slots=True)
class Handling:
    """A queue, the name of its handler, and the options that the handler sets."""

    queue: str
    handler: str
    options: HandlerOptions


def handles(queue: str, **options: Unpack[HandlerOptions]) -> Callable[[H], H]:
    """Declare the queue of a handler, and the options of its worker: `@handles("orders", concurrency=4)`.

    The decorated function can still be called. `python -m signalbox.worker --app MODULE` runs all of a module.
    Wrong options are raised here.
    """

    def mark(handler: H) -> H:
        Options("", queue, name_of(handler), **options)
        setattr(handler, _MARK, (*getattr(handler, _MARK, ()), (queue, options)))
        return handler

    return mark


def handlings_of(app: str, queue: str | None = None) -> list[Handling]:
    """Find the handlers of a module, named as `module` or `path.py`, or of one queue alone.

    Raises InvalidArgument when there is none, or when two functions handle one queue.
    """
    module = module_of(app)
    by_queue: dict[str, Handling] = {}
    for handler in {id(value): value for value in vars(module).values()}.values():
        for name, options in _marks(handler):
            handling = Handling(name, _name_for_child(app, module, handler), options)
            if name in by_queue:
                raise InvalidArgument(
                    f"app {app} has two handlers of {name}: {by_queue[name].handler} and {handling.handler}",
                    field="app",
                )
            by_queue[name] = handling
    handlings = [handling for handling in by_queue.values() if queue in (None, handling.queue)]
    if not handlings:
        which = f"of the queue {queue}" if by_queue else "decorated with @handles"
        raise InvalidArgument(f"app {app} has no handler {which}", field="app")
    return handlings


def _marks(value: object) -> tuple[tuple[str, HandlerOptions], ...]:
    marks: Any = getattr(value, _MARK, None) if callable(value) else None
    return marks if isinstance(marks, tuple) else ()


def _name_for_child(app: str, module: ModuleType, handler: Any) -> str:
    """The handler's name for a child process, which finds a file by its path and not by its module name."""
    if handler.__module__ == module.__name__:
        return f"{app}:{handler.__qualname__}"
    return name_of(handler)
