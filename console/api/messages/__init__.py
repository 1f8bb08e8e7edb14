"""The routes of messages: sending, receiving, settling and browsing."""
