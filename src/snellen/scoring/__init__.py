"""Readings and truth -> derived tables and measures."""
