"""A second factor at the login: a code that only the person's own device can reckon, or one on paper, each used once.

Codes, secrets and their rows are django-allauth's; asking, counting and the audit are ours.
"""

from console.second_factor.keeping import (
    address,
    app_of,
    begin,
    confirm,
    has_one,
    paper_left,
    pending,
    remove,
    renew_paper,
    takes,
)

__all__ = [
    "address",
    "app_of",
    "begin",
    "confirm",
    "has_one",
    "paper_left",
    "pending",
    "remove",
    "renew_paper",
    "takes",
]
