"""The limit on deliveries that a channel may hold."""

from __future__ import annotations

from typing import Any

from kombu.transport import virtual


class QoS(virtual.QoS):  # type: ignore[misc]
    """The deliveries that a channel holds, and their limit; `Leases` settles them."""

    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Drop a delivery that the consumer refused."""
        self._quick_ack(delivery_tag)

    def room(self, limit: int) -> int:
        """The number of deliveries that the channel may still take."""
        if not self.prefetch_count:
            return limit
        return int(min(max(self.prefetch_count - self.held(), 0), limit))

    def held(self) -> int:
        """The number of deliveries that the channel holds."""
        return len(self._delivered) - len(self._dirty)

    def get_if_held(self, delivery_tag: str) -> Any:
        """The message of this tag, or None."""
        return self._delivered.get(delivery_tag)

    def release_all(self) -> dict[str, Any]:
        """Forget all deliveries of the channel and return them by their tags."""
        self._flush()
        released = dict(self._delivered)
        self._delivered.clear()
        return released

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Restore nothing here: `Channel.close` gives deliveries back."""
        self._on_collect.cancel()
