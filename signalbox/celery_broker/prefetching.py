"""How many deliveries a channel may hold."""

from __future__ import annotations

from typing import Any

from kombu.transport import virtual


class QoS(virtual.QoS):  # type: ignore[misc]
    """How many deliveries a channel may hold; what becomes of them is the leases' business."""

    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """No longer held."""
        self._quick_ack(delivery_tag)

    def room(self, most: int) -> int:
        """How many more deliveries may be held."""
        if not self.prefetch_count:
            return most
        return int(min(max(self.prefetch_count - self.held(), 0), most))

    def held(self) -> int:
        """How many are."""
        return len(self._delivered) - len(self._dirty)

    def get_if_held(self, delivery_tag: str) -> Any:
        """The message of this tag, or None."""
        return self._delivered.get(delivery_tag)

    def leave(self) -> dict[str, Any]:
        """What is still held, and no longer by this channel."""
        self._flush()
        left = dict(self._delivered)
        self._delivered.clear()
        return left

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Nothing: see `Channel.close`."""
        self._on_collect.cancel()
