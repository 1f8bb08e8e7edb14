"""Large bodies: payloads that are too large for the database live in a store, under the hash of their content.

The message points to its body by that hash. A sender claims the hash in its transaction before it looks into the
store, and the collector removes an object only while it holds that claim; so the body of a committed message always
exists. Any object with the three calls of `BodyStore` is a store; `FileBodies` is a folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Protocol, overload

from signalbox.errors import BodyCorrupt, BodyMissing, InvalidArgument, PayloadTooLarge
from signalbox.messages import Body, Message, StreamMessage
from signalbox.payloads.binary import decoded
from signalbox.payloads.unreadable import Unreadable, decode

#: The largest payload that the database itself holds, in bytes as PostgreSQL counts them; larger ones go to the store.
INLINE_BYTES = 262_144
#: The largest body that a store accepts by default, in bytes.
MAX_BYTES = 100_000_000


class BodyStore(Protocol):
    """A store of large bodies, each under the SHA-256 of its content in hexadecimal. Any thread may use it."""

    #: The largest body that the store accepts, in bytes.
    max_bytes: int

    def put(self, sha256: str, content: bytes) -> None:
        """Store the content under its hash, completely or not at all. A repeated call changes nothing."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open the content for reading. Raises BodyMissing."""
        ...

    def exists(self, sha256: str) -> bool:
        """Return whether there is a body under this hash."""
        ...


class FileBodies:
    """A body store in a folder that all senders and receivers share."""

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> None:
        self.folder = Path(folder)
        self.max_bytes = max_bytes

    def put(self, sha256: str, content: bytes) -> None:
        """Write the content to a file, which gets its name after all bytes have reached the disk."""
        path = self._path(sha256)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{sha256}.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        _sync_folder(path.parent)

    def open(self, sha256: str) -> BinaryIO:
        """Open the content for reading. Raises BodyMissing."""
        try:
            return self._path(sha256).open("rb")
        except FileNotFoundError as error:
            raise BodyMissing(f"The body {sha256} is not in {self.folder}.") from error

    def exists(self, sha256: str) -> bool:
        """Return whether there is a body under this hash."""
        return self._path(sha256).exists()

    def _path(self, sha256: str) -> Path:
        return self.folder / name_of(sha256)


def name_of(sha256: str) -> str:
    """The name of an object in every store: its hash, in one of 256 folders. Raises InvalidArgument."""
    if not isinstance(sha256, str) or not _HASH.fullmatch(sha256):
        raise InvalidArgument(f"{str(sha256)[:80]!r} is not a SHA-256 in hexadecimal", field="sha256")
    return f"{sha256[:2]}/{sha256}"


@dataclass(frozen=True, slots=True)
class Parcel:
    """A large body that a send puts into the store."""

    sha256: str
    content: bytes

    @classmethod
    def of(cls, text: str) -> Parcel:
        """Make the large body for a payload in JSON text."""
        content = text.encode()
        return cls(hashlib.sha256(content).hexdigest(), content)


def parcels_of(texts: Sequence[str], store: BodyStore) -> dict[int, Parcel]:
    """Select the payloads, as JSON text, that go into the store, by their index. Raises PayloadTooLarge."""
    parcels = {index: Parcel.of(text) for index, text in enumerate(texts) if is_large(text)}
    for parcel in parcels.values():
        if len(parcel.content) > store.max_bytes:
            raise PayloadTooLarge(
                f"payload is {len(parcel.content)} bytes of JSON, above the body store's limit of {store.max_bytes}"
            )
    return parcels


def is_large(text: str) -> bool:
    """Return whether JSON text may be too large for the database, which adds a space after each comma and colon."""
    if len(text) * 6 <= INLINE_BYTES:
        return False
    return len(text.encode()) + text.count(",") + text.count(":") > INLINE_BYTES


def upload(parcel: Parcel, store: BodyStore) -> None:
    """Upload a body that the store lacks. The sender must have claimed the body in the same transaction."""
    if not store.exists(parcel.sha256):
        store.put(parcel.sha256, parcel.content)


class _Fetching:
    """The payload of a message in a body store; the first access fetches the payload and keeps it."""

    __slots__ = ()
    body: Body | None
    attributes: Mapping[str, Any]
    _bodies: BodyStore | None
    _fetched: Any

    def _take(self, message: Message | StreamMessage, bodies: BodyStore | None) -> None:
        for field in fields(message):
            if field.name != "payload":
                object.__setattr__(self, field.name, getattr(message, field.name))
        object.__setattr__(self, "_bodies", bodies)

    @property
    def payload(self) -> Any:
        """The payload, from the store. Raises BodyMissing or BodyCorrupt."""
        assert self.body is not None  # noqa: S101 - only a message with a body is made a large one
        if not hasattr(self, "_fetched"):
            content = decode(read_body(self.body, self._bodies))
            object.__setattr__(self, "_fetched", decoded(content, self.attributes))
        if isinstance(self._fetched, Unreadable):
            raise BodyCorrupt(f"The body {self.body.sha256} in the store cannot be read: {self._fetched}.")
        return self._fetched


class LargeMessage(_Fetching, Message):
    """A message of a queue whose payload is in a body store."""

    __slots__ = ("_bodies", "_fetched")

    def __init__(self, message: Message, bodies: BodyStore | None) -> None:
        self._take(message, bodies)

    def __repr__(self) -> str:
        return f"LargeMessage(id={self.id}, receipt_handle={self.receipt_handle!r}, body={self.body!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LargeMessage) and other.to_json() == self.to_json()

    def __hash__(self) -> int:
        return hash(self.receipt_handle)


class LargeStreamMessage(_Fetching, StreamMessage):
    """A message of a stream whose payload is in a body store."""

    __slots__ = ("_bodies", "_fetched")

    def __init__(self, message: StreamMessage, bodies: BodyStore | None) -> None:
        self._take(message, bodies)

    def __repr__(self) -> str:
        return f"LargeStreamMessage(partition={self.partition}, position={self.position}, body={self.body!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LargeStreamMessage) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.partition, self.position, self.epoch, self.body))

    def _facts(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self) if field.name != "payload"]


@overload
def with_body(message: Message, bodies: BodyStore | None) -> Message: ...


@overload
def with_body(message: StreamMessage, bodies: BodyStore | None) -> StreamMessage: ...


def with_body(message: Message | StreamMessage, bodies: BodyStore | None) -> Message | StreamMessage:
    """Make a message with a large payload fetch it from the store; other messages stay as they are."""
    if message.body is None:
        return message
    return LargeMessage(message, bodies) if isinstance(message, Message) else LargeStreamMessage(message, bodies)


def read_body(body: Body, bodies: BodyStore | None) -> bytes:
    """Read the content of a body and compare it with its hash. Raises BodyMissing or BodyCorrupt."""
    if bodies is None:
        raise BodyMissing(f"The payload is the body {body.sha256} of a body store, and the client has no body store.")
    with bodies.open(body.sha256) as file:
        content = file.read(body.bytes + 1)
    if len(content) != body.bytes or hashlib.sha256(content).hexdigest() != body.sha256:
        raise BodyCorrupt(f"The body {body.sha256} in the store has another content.")
    return content


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_HASH = re.compile(r"[0-9a-f]{64}")
