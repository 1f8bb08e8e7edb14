"""The filter bar above lists, its suggestions, and the filters that people save."""
