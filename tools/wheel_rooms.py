"""The step of a build that packs the server's rooms into `signalbox/rooms/` of the wheel (decision 56).

Setuptools loads this class by its name in pyproject.toml. The rooms keep their names and are in one folder, as in a
checkout. The folder is the wheel's own, so an installed `console` or `queues` never conflicts with another package.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools.command.build_py import build_py

ROOMS = ("console", "pipeline", "metrics", "dlq", "queues", "templates", "dashboards", "docs")
LOOSE = ("manage.py",)
LEFT_OUT = {"__pycache__", "build", "images", "0050-durations"}
"""Folders that no server reads: the generators of the documentation, and files that only its site shows."""


class BuildRooms(build_py):
    """Setuptools' step that copies modules, which then copies the rooms too."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the rooms stand beside the package
        for source in files(Path.cwd()):
            target = Path(self.build_lib, "signalbox", "rooms", source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def get_source_files(self) -> list[str]:
        """List the files for the source distribution: also those of the rooms, and this file, which the build needs."""
        own = Path(__file__).resolve().relative_to(Path.cwd())
        return [*super().get_source_files(), str(own), *map(str, files(Path.cwd()))]


def files(root: Path) -> Iterator[Path]:
    """List the files of the rooms, relative to the checkout."""
    yield from map(Path, LOOSE)
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and not LEFT_OUT & set(relative.parts[:-1]):
                yield relative
