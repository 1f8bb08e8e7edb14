"""A database backend that starts the embedded server when it does not run, and connects to it."""

from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import base, client
from psycopg import OperationalError

from queues.database.embedded.binaries import binary
from queues.database.embedded.users import EmbeddedPostgres


class DatabaseClient(client.DatabaseClient):
    executable_name = str(binary("psql"))

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.ensure_connection()
        super().runshell(parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    @property
    def server(self) -> EmbeddedPostgres:
        return EmbeddedPostgres(self.settings_dict["EMBEDDED_HOME"])

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect. Only a failure costs a check of the server, so a running one is reached at full speed."""
        self.server.join()
        try:
            return super().get_new_connection(conn_params)
        except OperationalError:
            if not self.server.is_accepting():
                self.server.ensure_running()
        # Either it runs and refuses (no such database, too many connections), and says so again, or it is ready now.
        return super().get_new_connection(conn_params)
