"""Roles, login, sessions, second factor and lockout: which person may do what."""
