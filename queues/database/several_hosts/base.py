"""Connect to the host that takes writes, never to a replaced one (`signalbox.connections.primary_selection`)."""

from typing import Any

from django.db.backends.postgresql import base

from signalbox.connections import primary_selection


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        hosts = primary_selection.hosts_of("", conn_params)
        connect = super().get_new_connection
        if not hosts:
            return connect(conn_params)
        return primary_selection.choose(hosts, lambda host: connect({**conn_params, **host}))
