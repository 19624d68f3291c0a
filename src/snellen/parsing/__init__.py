"""Replies -> readings: one file per output format, each with read() and write()."""
