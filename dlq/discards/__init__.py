"""Discards: actions on streams that take messages from their readers and wait for a second person's approval."""
