"""Lists for people: dead letters, and the messages of a queue by where they stand.

Each page is one query and as fast at the end of a list as at its beginning; a filter that finds too little in
the time it is given answers with what it has seen so far. Payloads come cut to 2 KB, as text.
"""

from dlq.browse.dead_letter_list import DeadLetterRow, ErrorClass, dead_letters, top_error_classes
from dlq.browse.message_list import MessageRow, State, messages
from dlq.browse.pages import PAGE_ROWS, Page, Place

__all__ = [
    "PAGE_ROWS",
    "DeadLetterRow",
    "ErrorClass",
    "MessageRow",
    "Page",
    "Place",
    "State",
    "dead_letters",
    "messages",
    "top_error_classes",
]
