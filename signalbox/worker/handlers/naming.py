"""Naming a handler so that another process can import it, and importing it there."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from signalbox.errors import InvalidArgument
from signalbox.messages import Message

#: A function, plain or async, that takes a message; its return means that the work is done.
Handler = Callable[[Message], Any]

H = TypeVar("H", bound=Handler)


def name_of(handler: Handler | str) -> str:
    """Name a handler as `module:name`, or as `path.py:name` in the script that is running."""
    if isinstance(handler, str):
        if not all(handler.rpartition(":")[::2]):
            raise InvalidArgument(f"handler must be module:name, not {handler!r}", field="handler")
        return handler
    name = getattr(handler, "__qualname__", "")
    if not name or "<" in name:
        raise InvalidArgument(
            f"handler must be a function at the top of a module, for child processes to import; {handler!r} is not",
            field="handler",
        )
    return f"{_importable_name(handler.__module__)}:{name}"


def load(name: str) -> Any:
    """Import the object that `module:name` or `path.py:name` names."""
    module, _, path = name.rpartition(":")
    return functools.reduce(getattr, path.split("."), module_of(module))


def module_of(name: str) -> ModuleType:
    """Import the module of this name, or the file of this path."""
    return _load_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)


def is_async(handler: Handler) -> bool:
    """Return whether the handler is asynchronous."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


def keeps_results(handler: H) -> H:
    """Mark a handler whose results are kept, whatever the worker's options."""
    vars(handler)["keep_results"] = True
    return handler


def wants_results_kept(handler: Handler) -> bool:
    """Return whether the handler is marked by `keeps_results`."""
    return getattr(handler, "keep_results", False) is True


def _importable_name(module: str) -> str:
    """The module or file that a child process imports; the running script goes by its file or its `python -m` name."""
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    if main.__spec__ is not None:
        return main.__spec__.name
    if main.__file__ is None:
        raise InvalidArgument("handler must be in a file, for child processes to import", field="handler")
    return str(Path(main.__file__).absolute())


def _load_file(path: Path) -> ModuleType:
    """Import a file under a name of its own, so that its `if __name__ == "__main__"` block does not run."""
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_script"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module
