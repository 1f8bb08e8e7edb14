"""A database backend of Django's for an address of several hosts: a primary and its standbys."""
