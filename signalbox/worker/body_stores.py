"""Naming a body store so that a child process can open it: a folder, or a function that makes a store."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from signalbox.bodies import BodyStore, FileBodies
from signalbox.errors import InvalidArgument
from signalbox.worker.handlers import load

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def store_of(name: str | None) -> BodyStore | None:
    """The store of this name: a path, a file:// URL, or module:function that returns one. None: there is none."""
    if name is None:
        return None
    if name.startswith("file:"):
        return FileBodies(Path(unquote(urlsplit(name).path)))
    if _FUNCTION.fullmatch(name):
        store: BodyStore = load(name)()
        return store
    if "://" in name:
        raise InvalidArgument(
            f"bodies must be a folder, a file:// URL or module:function, not {name[:200]!r}", field="bodies"
        )
    return FileBodies(Path(name).expanduser())
