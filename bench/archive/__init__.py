"""The data pipeline beside plain tools that do the same once."""
