"""Benchmark of what operators wait for: pages, scrapes, redrives."""
