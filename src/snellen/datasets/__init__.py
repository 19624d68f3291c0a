"""Readers and writers of data sets on disk."""
