"""Lists for people: dead letters, messages of a queue, counts, suggestions, saved filters."""
