"""Browsing messages, the story of one message, comparisons and exports."""
