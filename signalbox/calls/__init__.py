"""Calls of the verbs, one noun a file: the SQL statement of a verb and the HTTP request for it stand side by side.

A call has the name of its verb, whose documentation is in `signalbox/verbs.py`.
Nothing here opens a connection. Arguments are checked and encoded once, for the statement, and a request is written
from its parameters: both transports refuse the same arguments in the same words. JSON travels as text in both
directions, so that a connection whose owner has replaced psycopg's adapters (Django does) gives the same messages.
"""
