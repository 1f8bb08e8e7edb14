"""The refusal of a message that another cell takes, as the API says it and a client reads it."""

from __future__ import annotations

import signalbox
from console.api.core.problems import problem_of
from signalbox.calls.problems import error_of


def test_the_refusal_is_the_same_over_http() -> None:
    refusal = signalbox.Moved("elsewhere", version=7, cell="b", partition=3, epoch=2, retry_after=0.05)
    problem = problem_of(refusal)
    assert (problem.kind.slug, problem.kind.status, problem.headers) == ("moved", 421, {"Retry-After": "1"})
    assert vars(error_of(problem.document(), {})) == vars(refusal)
