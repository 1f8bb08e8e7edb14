"""Large bodies in Django's storage: the alias "bodies" of STORAGES, by default a folder under SIGNALBOX_HOME.

Any Django storage works in which an object appears complete or not at all. All processes of an installation share it,
and no other installation may use it: objects without a row in this database are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage, storages

from signalbox.errors import BodyMissing, InvalidArgument
from signalbox.payloads.bodies import FileBodies, name_of

ALIAS = "bodies"


class WholeFiles(FileSystemStorage):
    """A folder in which a file appears when it is complete and on disk; Django's class writes under the final name."""

    def _save(self, name: str, content: File[Any]) -> str:
        FileBodies(self.location).put(Path(name).name, content.read())
        return name

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Return the name itself: a file of that name has the same content."""
        return name


class StoredBodies:
    """A body store over a Django storage, with the listing and deletion that body collection needs."""

    def __init__(self, storage: Storage, max_bytes: int) -> None:
        self.storage = storage
        self.max_bytes = max_bytes

    def put(self, sha256: str, content: bytes) -> None:
        """Store the content under its hash; a second call changes nothing."""
        name = name_of(sha256)
        kept = self.storage.save(name, ContentFile(content))
        if kept != name:
            self.storage.delete(kept)  # a storage that never overwrites: another process was faster

    def open(self, sha256: str) -> BinaryIO:
        """Open the content of a body. Raises BodyMissing."""
        try:
            return cast("BinaryIO", cast("IO[bytes]", self.storage.open(name_of(sha256), "rb")))
        except FileNotFoundError as error:
            raise BodyMissing(f"The body {sha256} is not in the storage of large bodies.") from error

    def exists(self, sha256: str) -> bool:
        """Tell whether an object exists under this hash."""
        return self.storage.exists(name_of(sha256))

    def delete(self, sha256: str) -> None:
        """Remove the object, if it is there."""
        self.storage.delete(name_of(sha256))

    def stored_before(self, moment: datetime) -> Iterator[str]:
        """List the hashes of objects stored before a time; objects whose names are no hashes are skipped."""
        for folder in self._listed("")[0]:
            for name in self._listed(folder)[1]:
                try:
                    path = name_of(name)
                except InvalidArgument:
                    continue
                if path == f"{folder}/{name}" and self._stored_at(path) < moment:
                    yield name

    def _listed(self, folder: str) -> tuple[list[str], list[str]]:
        try:
            return self.storage.listdir(folder)
        except FileNotFoundError:
            return [], []  # nothing was ever stored

    def _stored_at(self, path: str) -> datetime:
        try:
            return self.storage.get_modified_time(path)
        except Exception:  # each storage has an error of its own for it
            if self.storage.exists(path):
                raise
            return datetime.max.replace(tzinfo=UTC)  # gone since it was listed


@cache
def store() -> StoredBodies:
    """Return the body store of this installation."""
    return StoredBodies(storages[ALIAS], settings.BODIES_MAX_BYTES)
