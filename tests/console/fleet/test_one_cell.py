"""An installation with one cell: no statement about a fleet, and no mention of a fleet on pages."""

from collections.abc import Callable

from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.overview import standings
from tests.console.browsers import Browser


def test_one_cell_has_no_statement_and_no_word_of_a_fleet(viewer: Browser, make_engine: Callable[..., object]) -> None:
    make_engine()
    standings.forget()
    for address in ("/", "/dead-letters", "/streams"):
        with CaptureQueriesContext(connection) as queries:
            page = viewer.see(address)
        about_a_fleet = [query["sql"] for query in queries if "fleet" in query["sql"]]
        assert all("clock_ahead_seconds" in sql for sql in about_a_fleet), "only the query of the conditions asks"
        assert "fleet" not in page.html.lower(), address
