"""Erasures in the archive: files that contain the value are rewritten, and replaced in the manifest.

`rewriting` searches and writes files with Arrow; `in_archive` processes the files of the manifest; `external` reports
the progress to the erasure's job (`dlq.erasure`).
"""
