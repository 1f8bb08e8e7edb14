"""Connects to the host that takes writes, and to none that was replaced (signalbox/epochs.py)."""

from typing import Any

from django.db.backends.postgresql import base

from signalbox import epochs


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        places = epochs.places_of("", conn_params)
        if not places:
            return super().get_new_connection(conn_params)
        connect = super().get_new_connection
        return epochs.choose(places, lambda place: connect({**conn_params, **place}))
