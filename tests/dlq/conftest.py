"""What tests of dead letters share."""

from tests.dlq.graveyards import graveyard, make_graveyard

__all__ = ["graveyard", "make_graveyard"]
