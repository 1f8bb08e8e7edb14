"""Erasing in the archive: a file that has what is to be erased is written anew, and takes its place in the manifest.

`finding` looks into files and `rewriting` writes them, with Arrow and nothing else; `in_archive` goes from file to file
and may be killed anywhere; `outside` tells erasures (`dlq.erasing`) how far it is.
"""
