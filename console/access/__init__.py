"""Access of people and programs: roles, grants, login, sessions, second factor, API keys."""
