"""Benchmark of pages, scrapes and redrives, for which operators wait."""
