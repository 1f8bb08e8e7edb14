"""Erase in the archive: a file with what is to be erased is rewritten, and replaced in the manifest.

`rewriting` looks into files and writes them, with Arrow and nothing else; `in_archive` goes from file to file and may
be killed anywhere; `external` reports the progress to erasures (`dlq.erasure`).
"""
