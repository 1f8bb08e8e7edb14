"""What can go wrong with the embedded server, said so that a reader can act."""


class EmbeddedPostgresError(RuntimeError):
    """The embedded PostgreSQL cannot be used."""
